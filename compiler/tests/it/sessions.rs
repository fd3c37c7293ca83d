//! After any edits, the output of a session equals that of a new session for the same text.

use std::fmt::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use ptxc_compiler::{Interrupted, Session, Settings, Update};
use ptxc_sass::text::Style;

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.global .u32 x;\n";

fn kernel(name: &str, body: &str) -> String {
    format!(".entry {name}(.param .u64 p)\n{{\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n{body}\tret;\n}}\n")
}

/// Bodies that each cover another case: plain, with a warning, with an error, with a call, without
/// an end, and so on.
const BODIES: &[&str] = &[
    "\tld.param.u64 %rd1, [p];\n\tst.global.u32 [%rd1], 7;\n",
    "\tmov.u32 %r1, %tid.x;\n\tmov.u64 %rd2, x;\n\tst.global.u32 [%rd2], %r1;\n",
    "\tadd.s32 %r1, %r2, nothing;\n",
    "\tadd.s32 %r1 %r2, 5;\n",
    "\tcall helper;\n",
    "\tcall other;\n",
    "\ttrapp;\n",
    "\t// a comment {\n",
    "\tbar.sync 0;\n",
];

fn all(session: &Session) -> (String, String) {
    (session.sass(&Style::default()), format!("{:#?}", session.diagnostics()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn it_does_not_matter_how_a_text_came_about(
        edits in prop::collection::vec((0usize..5, prop::sample::select(BODIES)), 1..8),
        helper in prop::collection::vec(any::<bool>(), 8),
    ) {
        let mut bodies = ["\tbar.sync 0;\n"; 5];
        let text = |bodies: &[&str], helps: bool| {
            let mut text = String::from(HEADER);
            if helps { text.push_str(".func helper() { ret; }\n"); }
            for (number, body) in bodies.iter().enumerate() {
                text.push_str(&kernel(&format!("k{number}"), body));
            }
            text
        };
        let mut session = Session::new("k.ptx", text(&bodies, true), Settings::default());
        session.update().unwrap();
        for ((at, body), helps) in edits.into_iter().zip(helper) {
            bodies[at] = body;
            session.replace(&text(&bodies, helps));
            session.update().unwrap();
            let mut fresh = Session::new("k.ptx", session.text(), Settings::default());
            fresh.update().unwrap();
            prop_assert_eq!(all(&session), all(&fresh));
        }
    }
}

#[test]
fn an_update_names_the_compiled_and_the_changed_kernels() {
    let text = format!("{HEADER}{}{}", kernel("a", BODIES[0]), kernel("b", BODIES[1]));
    let mut session = Session::new("k.ptx", text.as_str(), Settings::default());
    session.count_queries();
    let update = session.update().unwrap();
    assert_eq!((update.lowered.join(" "), update.changed.join(" ")), ("a b".into(), "a b".into()));
    assert_eq!(update.queries["own_code"], 2);

    session.replace(&text.replace("], 7", "], 8"));
    let update = session.update().unwrap();
    assert_eq!((update.lowered.join(" "), update.changed.join(" ")), ("a".into(), "a".into()));
    assert_eq!(update.queries["own_code"], 1);

    // A renamed register gives the same SSA.
    session.replace(&text.replace("], 7", "], 8").replace("%rd2", "%rd3"));
    let update = session.update().unwrap();
    assert_eq!((update.queries["built"], update.lowered.len()), (1, 0), "{update:?}");

    session
        .replace(&text.replace("], 7", "], 8").replace("%rd2", "%rd3").replace("ret", "/* the end */ ret"));
    let update = session.update().unwrap();
    assert_eq!((update.lowered.len(), update.queries.len()), (0, 0), "{update:?}");
}

#[test]
fn many_threads_give_the_same_functions_as_one() {
    let kernels: Vec<String> = (0..40).map(|n| kernel(&format!("k{n}"), BODIES[n % BODIES.len()])).collect();
    let text = format!("{HEADER}.func helper() {{ ret; }}\n{}", kernels.concat());
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut session = Session::new("k.ptx", text.as_str(), Settings::default());
        pool.install(|| session.update()).unwrap();
        all(&session)
    };
    assert_eq!(on(1), on(7));
}

/// A kernel without a branch.
fn long_kernel(instructions: usize) -> String {
    let mut body = String::from("\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n");
    for number in 0..instructions / 2 {
        let at = number * 4 % 4096;
        writeln!(body, "\tld.global.u32 %r2, [%rd1+{at}];\n\tmad.lo.s32 %r1, %r1, %r2, {number};").unwrap();
    }
    body.push_str("\tst.global.u32 [%rd1], %r1;\n");
    format!("{HEADER}{}", kernel("long", &body))
}

/// The result of an update that is stopped after some time, and how long it went on after that.
fn stopped_after(time: Duration, session: &mut Session) -> (Result<Update, Interrupted>, Duration) {
    let stop = session.stop();
    std::thread::scope(|scope| {
        let stopping = scope.spawn(move || {
            std::thread::sleep(time);
            stop.stop();
            Instant::now()
        });
        let update = session.update();
        (update, stopping.join().unwrap().elapsed())
    })
}

#[test]
fn an_update_can_be_stopped_and_the_next_one_finishes_it() {
    let open = || Session::new("k.ptx", long_kernel(20_000), Settings::default());
    let start = Instant::now();
    open().update().unwrap();
    let whole = start.elapsed();
    // A busy machine can delay the thread that stops the update until its end, so there are several attempts.
    // A benchmark measures how soon an update ends; this test only checks that the work was abandoned.
    let mut waited = Vec::new();
    let mut session = loop {
        let mut session = open();
        let (update, time) = stopped_after(whole / 4, &mut session);
        if update == Err(Interrupted) {
            break session;
        }
        waited.push(time);
        assert!(waited.len() < 10, "an update of {whole:?} went on for {waited:?} after it was stopped");
    };
    assert_eq!(session.code("long"), None);
    session.replace(&long_kernel(20));
    assert_eq!(session.update().unwrap().lowered, ["long"]);
    assert!(session.code("long").is_some());
}

/// Parts of the bodies of device functions and kernels in [`calls`].
const PARTS: &[&str] = &[
    "",
    "",
    "",
    "\tadd.u32 %r1, %r1, 5;\n",
    "\tmul.lo.u32 %r1, %r1, 3;\n",
    "\tmul.lo.u32 %r1, %r1, %r1;\n\tadd.u32 %r1, %r1, 7;\n",
    "\tbarrier.sync 3;\n",
    "\tbarrier.sync 11;\n",
    "\tsetp.gt.u32 %p1, %r1, 3;\n\tvote.sync.any.pred %p1, %p1, -1;\n\tselp.u32 %r1, 1, 2, %p1;\n",
    "\tsetp.gt.u32 %p1, %r1, 3;\n\t@%p1 bra NEXT;\n\tvote.sync.all.pred %p2, %p1, -1;\n\tselp.u32 %r1, 1, 2, %p2;\nNEXT:\n",
    "\tst.volatile.shared.u32 [word], %r1;\n",
    "\tld.volatile.shared.u32 %r1, [pair+4];\n",
    "\t.shared .align 8 .b8 own[24];\n\tst.volatile.shared.u32 [own], %r1;\n",
    "\t.shared .b8 own[4];\n\tst.volatile.shared.u32 [own], %r1;\n",
    "\t.global .u32 kept = 5;\n\tld.global.u32 %r2, [kept];\n\tadd.u32 %r1, %r1, %r2;\n",
    "\t.const .u32 kept = 6;\n\tld.const.u32 %r2, [kept];\n\tadd.u32 %r1, %r1, %r2;\n",
    "\tld.global.u32 %r2, [x];\n\tadd.u32 %r1, %r1, %r2;\n",
    "\tld.global.u64 %rd2, [held];\n\tP: .callprototype _ ();\n\tcall %rd2, (), P;\n",
    "\tmov.u64 %rd2, f1;\n\tst.global.u64 [kept_address], %rd2;\n",
    "\tmov.u64 %rd2, f3;\n\tst.global.u64 [kept_address], %rd2;\n",
    "\tld.global.u64 %rd2, [kept_address];\n\tF: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
     \t{\n\t.param .b32 a, b;\n\tst.param.b32 [a], %r1;\n\tcall (b), %rd2, (a), F;\n\tld.param.b32 %r1, [b];\n\t}\n",
    "\tdiv.u32 %r1, %r1, 7;\n\trem.u32 %r1, %r1, %tid.x;\n",
    "\tcall empty;\n",
    "\t.reg .b32 %unused<3>;\n",
    "\texit;\n",
    "CALL0",
    "CALL1",
    "CALL2",
    "CALL3",
    "CALL0",
    "CALL1",
    "CALL2",
    "\tadd.u32 %r1, %r1, nothing;\n",
    "\tadd.u32 %r1 %r1, 5;\n",
    "\tcall outside;\n",
    "\tcall also;\n",
    "\t{\n",
    "CALL4",
];

/// The parts at the end that have errors.
const WRONG: usize = 6;

/// An index of a part, seldom of one with an error.
fn part() -> impl Strategy<Value = usize> {
    prop_oneof![30 => 0..PARTS.len() - WRONG, 1 => PARTS.len() - WRONG..PARTS.len()]
}

/// The functions of the file, four device functions and three kernels.
const CALLING: usize = 7;

/// A function of a file whose functions call each other.
#[derive(Clone, Debug)]
struct Calling {
    parts: [usize; 2],
    /// The parameters and the name.
    head: usize,
}

/// A file of functions that call each other: device functions, then kernels.
fn calls(functions: &[Calling], around: usize) -> String {
    let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n");
    text.push_str(
        ".global .u32 x;\n.global .u64 kept_address;\n.shared .b32 word;\n.shared .align 8 .b8 pair[8];\n",
    );
    text.push_str(".func outside();\n.func empty() { ret; }\n.func also();\n.alias also, empty;\n");
    for number in 0..5 {
        let written = writeln!(text, ".func (.param .b32 r) f{number}(.param .b32 a);");
        written.unwrap();
    }
    text.push_str(match around {
        0 => ".global .u64 held = empty;\n",
        1 => ".global .u64 held;\n.global .u64 other = held;\n.shared .b32 more;\n",
        _ => ".global .u64 held[2] = { f2, 0 };\n.global .u64 again = f2;\n",
    });
    for (number, function) in functions.iter().enumerate() {
        let mut body = String::new();
        for part in function.parts.map(|part| PARTS[part]) {
            match part.strip_prefix("CALL") {
                Some(called) => write!(
                    body,
                    "\t{{\n\t.param .b32 s, t;\n\tst.param.b32 [s], %r1;\n\tcall (t), f{called}, (s);\n\
                     \tld.param.b32 %r2, [t];\n\t}}\n\txor.b32 %r1, %r1, %r2;\n"
                ),
                None => write!(body, "{part}"),
            }
            .unwrap();
        }
        let registers = "\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n";
        let written = match (number < 4, function.head) {
            (true, head) => {
                let ty = if head == 1 { "u32" } else { "b32" };
                let name = if head == 2 { number + 1 } else { number };
                let more = if head == 3 { ", .param .b32 b" } else { "" };
                write!(
                    text,
                    ".func (.param .b32 r) f{name}(.param .{ty} a{more})\n{{\n{registers}\tld.param.b32 %r1, [a];\n{body}\
                     \tst.param.b32 [r], %r1;\n\tret;\n}}\n"
                )
            }
            (false, head) => {
                let more = if head == 1 { ", .param .u64 q" } else { "" };
                write!(
                    text,
                    ".visible .entry k{number}(.param .u64 p{more})\n{{\n{registers}\tld.param.u64 %rd1, [p];\n\
                     \tmov.u32 %r1, %tid.x;\n{body}\tst.global.u32 [%rd1], %r1;\n\tret;\n}}\n"
                )
            }
        };
        written.unwrap();
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn it_does_not_matter_how_functions_that_call_each_other_came_about(
        start in prop::collection::vec([part(), part()], CALLING),
        is_object in prop::bool::weighted(0.1),
        edits in prop::collection::vec(
            (0..CALLING, 0usize..2, part(), prop_oneof![40 => Just(0usize), 1 => 1usize..4], prop_oneof![20 => Just(3usize), 1 => 0usize..3], prop::bool::weighted(0.8)),
            1..12,
        ),
    ) {
        let settings = Settings { relocatable: is_object, ..Settings::default() };
        let mut functions: Vec<Calling> = start.into_iter().map(|parts| Calling { parts, head: 0 }).collect();
        let mut around = 0;
        let mut session = Session::new("k.ptx", calls(&functions, around), settings.clone());
        session.update().unwrap();
        for (at, place, part, head, other, updates) in edits {
            functions[at].parts[place] = part;
            functions[at].head = head;
            if other < 3 { around = other; }
            session.replace(&calls(&functions, around));
            // Some updates follow several edits.
            if !updates { continue; }
            session.update().unwrap();
            let mut fresh = Session::new("k.ptx", session.text(), settings.clone());
            fresh.update().unwrap();
            let found = all(&session);
            prop_assert_eq!(&found, &all(&fresh), "{}", session.text());
            prop_assert!(!found.1.contains("ptxc, not in"), "{} {}", found.1, session.text());
        }
    }
}

/// A file of two kernels; each calls two functions.
fn two_kernels(body: [&str; 4]) -> String {
    let call = |number: usize| {
        format!(
            "\t{{\n\t.param .b32 s, t;\n\tst.param.b32 [s], %r1;\n\tcall (t), f{number}, (s);\n\tld.param.b32 %r1, [t];\n\t}}\n"
        )
    };
    let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n.shared .b32 word;\n");
    for (number, body) in body.iter().enumerate() {
        write!(
            text,
            ".func (.param .b32 r) f{number}(.param .b32 a)\n{{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\
             \tld.param.b32 %r1, [a];\n{body}\tst.param.b32 [r], %r1;\n\tret;\n}}\n"
        )
        .unwrap();
    }
    for number in 0..2 {
        let calls = call(2 * number) + &call(2 * number + 1);
        write!(
            text,
            ".visible .entry k{number}(.param .u64 p)\n{{\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\
             \tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n{calls}\tst.global.u32 [%rd1], %r1;\n\tret;\n}}\n"
        )
        .unwrap();
    }
    text
}

#[test]
fn an_edit_in_a_device_function_links_only_its_kernels() {
    let (one, other) = ("\tadd.u32 %r1, %r1, 5;\n", "\tadd.u32 %r1, %r1, 6;\n");
    let mut session = Session::new("k.ptx", two_kernels([one; 4]), Settings::default());
    session.count_queries();
    session.update().unwrap();

    session.replace(&two_kernels([one, other, one, one]));
    let update = session.update().unwrap();
    assert_eq!((update.lowered.join(" "), update.changed.join(" ")), ("k0".into(), "k0".into()));
    for (query, runs) in
        [("tree", 1), ("checked", 1), ("mir", 1), ("device_code", 1), ("own_code", 0), ("parts", 0)]
    {
        assert_eq!(update.queries.get(query).copied().unwrap_or(0), runs, "{query}: {:?}", update.queries);
    }

    let mut fresh = Session::new("k.ptx", session.text(), Settings::default());
    fresh.update().unwrap();
    assert_eq!(all(&session), all(&fresh));

    // A call that was not there before.
    let called = "\t{\n\t.param .b32 s, t;\n\tst.param.b32 [s], %r1;\n\tcall (t), f1, (s);\n\tld.param.b32 %r1, [t];\n\t}\n";
    session.replace(&two_kernels([one, other, called, one]));
    assert_eq!(session.update().unwrap().lowered, ["k1"]);
    // The new caller is linked again, too.
    session.replace(&two_kernels([one, one, called, one]));
    assert_eq!(session.update().unwrap().lowered, ["k0", "k1"]);
    session.replace(&two_kernels([one, one, one, one]));
    assert_eq!(session.update().unwrap().lowered, ["k1"]);
    session.replace(&two_kernels([one, other, one, one]));
    assert_eq!(session.update().unwrap().lowered, ["k0"]);

    // The place of a shared variable of another function changes.
    let own = "\t.shared .b32 own;\n\tst.volatile.shared.u32 [own], %r1;\n";
    session.replace(&two_kernels([own, one, one, own]));
    assert_eq!(session.update().unwrap().lowered, ["k0", "k1"]);
    session.replace(&two_kernels([one, one, one, own]));
    assert_eq!(session.update().unwrap().changed, ["k0", "k1"]);
}

#[test]
fn a_kernel_can_decide_where_lanes_of_a_function_meet() {
    let vote = "\tsetp.gt.u32 %p1, %r1, 3;\n\tvote.sync.any.pred %p2, %p1, -1;\n\tselp.u32 %r1, 1, 2, %p2;\n";
    let function = format!(
        ".func (.param .b32 r) f(.param .b32 a)\n{{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\
         \tld.param.b32 %r1, [a];\n\tsetp.gt.u32 %p1, %r1, 9;\n\t@%p1 bra END;\n{vote}END:\n\tst.param.b32 [r], %r1;\n\tret;\n}}\n"
    );
    let kernel = |name: &str, body: &str| {
        format!(
            ".visible .entry {name}(.param .u64 p)\n{{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\
             \tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\tsetp.gt.u32 %p1, %r1, 9;\n\t@%p1 bra OTHER;\n\
             {body}\tbra DONE;\nOTHER:\n\t{{\n\t.param .b32 s, t;\n\tst.param.b32 [s], %r1;\n\tcall (t), f, (s);\n\
             \tld.param.b32 %r1, [t];\n\t}}\nDONE:\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}}\n"
        )
    };
    let text = |body: &str| {
        format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n{function}{}{}",
            kernel("a", body),
            kernel("b", "")
        )
    };
    let mut session = Session::new("k.ptx", text(""), Settings::default());
    session.update().unwrap();
    session.replace(&text(vote));
    session.update().unwrap();
    let mut fresh = Session::new("k.ptx", text(vote), Settings::default());
    fresh.update().unwrap();
    assert_eq!(all(&session), all(&fresh));
}
