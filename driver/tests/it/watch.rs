//! `ptxc lower --watch` lowers a file when it is saved, and reports what it recompiled.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const TEXT: &str =
    ".version 8.0\n.target sm_90\n.entry a() { bar.sync 1; ret; }\n.entry b() { bar.sync 2; ret; }\n";

/// The running program; killed when it goes out of scope.
struct Watching(Child, Receiver<String>);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Watching {
    fn start(path: &Path) -> Watching {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ptxc"))
            .args(["lower", "--watch"])
            .arg(path)
            .arg("-o")
            .arg(path.with_extension("sass"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let (sender, receiver) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Watching(child, receiver)
    }

    /// The next line that reports what was lowered, without its time.
    fn said(&self) -> String {
        loop {
            let line = self.1.recv_timeout(Duration::from_secs(60)).expect("it says something");
            if let Some((what, ran)) = line.split_once(" ms; ") {
                let what = what.split_once(": ").map_or(what, |(_, what)| what);
                let what = what.rsplit_once(" in ").map_or(what, |(what, _)| what);
                return format!("{what}; {ran}");
            }
        }
    }
}

#[test]
fn a_saved_file_is_lowered_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, result) = (folder.path().join("k.ptx"), folder.path().join("k.sass"));
    // The file is replaced atomically: a half-written file would be lowered too, if it stayed
    // unchanged for a moment.
    let save = |text: &str| {
        let new = folder.path().join("new");
        std::fs::write(&new, text).expect("it is written");
        std::fs::rename(&new, &path).expect("it takes the place of the old one");
    };
    // The report comes before the output is written.
    let written = |expected: &str| {
        let holds = || std::fs::read_to_string(&result).is_ok_and(|text| text.contains(expected));
        (0..600).any(|_| {
            holds() || {
                std::thread::sleep(Duration::from_millis(100));
                false
            }
        })
    };
    save(TEXT);
    let watching = Watching::start(&path);
    let all = "parse 2, check 2, build 2, ssa 2, machine 2, code 2";
    assert_eq!(watching.said(), format!("lowered a, b (2 of 2); ran {all}"));
    assert!(written("BAR.SYNC.DEFER_BLOCKING 0x2"));

    save(&TEXT.replace("sync 2", "sync 12"));
    let one = "parse 1, check 1, build 1, ssa 1, machine 1, code 1";
    assert_eq!(watching.said(), format!("lowered b (1 of 2); ran {one}"));
    assert!(written("BAR.SYNC.DEFER_BLOCKING 0xc"));

    save(&TEXT.replace("sync 2", "sync /* the same */ 12"));
    assert_eq!(watching.said(), "nothing to lower; no stage ran");

    save(&TEXT.replace("sync 2", "sync two"));
    assert_eq!(
        watching.said(),
        "lowered b (1 of 2); ran parse 1, check 1, build 1, ssa 1, machine 1, code 1"
    );
    save(&TEXT.replace("sync 2", "sync 13"));
    watching.said();
    assert!(written("BAR.SYNC.DEFER_BLOCKING 0xd"));
}

#[test]
fn files_that_cannot_be_watched_are_refused() {
    let refused = |words: &[&str], message: &str| {
        let all: Vec<String> =
            ["ptxc", "lower", "--watch"].iter().chain(words).map(ToString::to_string).collect();
        let mut err = Vec::new();
        let code = ptxc::run(&all, &mut std::io::empty(), &mut std::io::sink(), &mut err);
        assert_eq!((code, String::from_utf8_lossy(&err).contains(message)), (2, true), "{words:?}");
    };
    refused(&["-"], "--watch cannot watch standard input");
    refused(&["a.ptx", "b.ptx", "-o", "out/"], "--watch accepts only one file");
    refused(&["a.ptx", "--time-passes"], "--watch cannot print passes");
    refused(&["a.ptx", "--emit=ast"], "--watch cannot write the syntax tree");
}
