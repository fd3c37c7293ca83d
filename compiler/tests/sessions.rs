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
    assert_eq!(update.queries["code"], 2);

    session.replace(&text.replace("], 7", "], 8"));
    let update = session.update().unwrap();
    assert_eq!((update.lowered.join(" "), update.changed.join(" ")), ("a".into(), "a".into()));
    assert_eq!(update.queries["code"], 1);

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
