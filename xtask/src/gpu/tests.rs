//! Tests without a GPU: a module replaces `cuda.bindings.driver`. It checks that the launch is the
//! one that the case describes, and answers with the expected buffers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ptxc_machine::Arch;

use super::{Report, arch_of, check};
use crate::gpu::device::{Device, Gpu};

/// Python with the fake driver, and the driver's instructions for the case.
struct Fake {
    _folder: tempfile::TempDir,
    gpu: Gpu,
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases")
}

/// `None` if there is no Python.
fn fake(case: &Path, settings: &[(&str, &str)]) -> Option<Fake> {
    let python = PathBuf::from("python3");
    if Command::new(&python).arg("--version").output().is_err() {
        println!("SKIPPED: there is no python3");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("cuda/bindings");
    std::fs::create_dir_all(&package).unwrap();
    for init in [folder.path().join("cuda/__init__.py"), package.join("__init__.py")] {
        std::fs::write(init, "").unwrap();
    }
    std::fs::write(package.join("driver.py"), include_str!("fake.py")).unwrap();
    let mut environment = vec![
        ("PYTHONPATH".to_string(), folder.path().display().to_string()),
        ("FAKE_CASES".to_string(), case.display().to_string()),
    ];
    environment.extend(settings.iter().map(|(name, value)| (name.to_string(), value.to_string())));
    let gpu = Gpu::new(python, environment, Duration::from_secs(30));
    Some(Fake { _folder: folder, gpu })
}

fn run(case: &Path, settings: &[(&str, &str)]) -> Option<Report> {
    let fake = fake(case, settings)?;
    Some(check(&fake.gpu, &[case.to_path_buf()], None, 3, 3).unwrap())
}

#[test]
fn right_answers_hold() {
    for name in ["saxpy", "xxh64", "cluster_arms"] {
        let Some(report) = run(&cases().join(format!("{name}.json")), &[]) else { return };
        assert_eq!(report.wrong, 0, "{}", report.text);
        assert!(
            report.text.contains("a GPU that is none, sm_90, CUDA 13.0, by cuda-bindings"),
            "{}",
            report.text
        );
        assert!(report.text.contains("1 of 1 cases hold"), "{}", report.text);
    }
}

#[test]
fn failures_are_reported() {
    for (what, message) in [
        ("wrong", "instead of"),
        ("fault", "CUDA error 700: CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("crash", "Python ended with"),
    ] {
        let Some(report) = run(&cases().join("saxpy.json"), &[("FAKE_DO", what)]) else { return };
        assert_eq!(report.wrong, 1, "{}", report.text);
        assert!(
            report.text.contains("FAILED saxpy, our code: ") && report.text.contains(message),
            "{}",
            report.text
        );
        assert!(report.text.contains("0 of 1 cases hold"), "{}", report.text);
    }
}

#[test]
fn a_kernel_that_never_ends_is_given_up() {
    let case = cases().join("saxpy.json");
    let Some(mut fake) = fake(&case, &[("FAKE_DO", "hang")]) else { return };
    fake.gpu.timeout = Duration::from_secs(3);
    let report = check(&fake.gpu, std::slice::from_ref(&case), None, 1, 3).unwrap();
    assert_eq!(report.wrong, 1);
    assert!(report.text.contains("no answer after 3 s"), "{}", report.text);
}

/// A case with more facts about its launch, which needs more shared memory than a kernel has by
/// default.
#[test]
fn clusters_cooperation_and_much_shared_memory_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(cases().join("saxpy.json")).unwrap();
    let mut case: serde_json::Value = serde_json::from_str(&text).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
    case["ptx"] = root.join(case["ptx"].as_str().unwrap()).display().to_string().into();
    case["cluster"] = serde_json::json!([1, 1, 1]);
    case["cooperative"] = true.into();
    case["dynamic_smem"] = 100_000.into();
    let path = folder.path().join("saxpy.json");
    std::fs::write(&path, case.to_string()).unwrap();
    let Some(report) = run(&path, &[]) else { return };
    assert_eq!(report.wrong, 0, "{}", report.text);
}

#[test]
fn without_a_gpu_nothing_passes() {
    let case = cases().join("saxpy.json");
    let Some(fake) = fake(&case, &[("FAKE_CAPABILITY", "6.1")]) else { return };
    let why = check(&fake.gpu, std::slice::from_ref(&case), None, 1, 3).err().unwrap();
    assert!(why.contains("no code for compute capability 6.1"), "{why}");
    // None of the libraries.
    let gpu = Gpu::new("no such python".into(), Vec::new(), Duration::from_secs(30));
    let why = check(&gpu, std::slice::from_ref(&case), None, 1, 3).err().unwrap();
    assert!(why.contains("no GPU can be used"), "{why}");
}

#[test]
fn a_gpu_has_the_newest_code_of_its_generation() {
    let arch = |major, minor| {
        let (device, by) = ("a GPU".to_string(), String::new());
        arch_of(&Device { device, capability: (major, minor), driver: 0, by }).ok()
    };
    assert_eq!(arch(7, 5), Some(Arch::Sm75));
    assert_eq!(arch(8, 0), Some(Arch::Sm80));
    assert_eq!(arch(8, 7), Some(Arch::Sm86));
    assert_eq!(arch(8, 9), Some(Arch::Sm89));
    assert_eq!(arch(9, 0), Some(Arch::Sm90));
    assert_eq!((arch(7, 0), arch(12, 0)), (None, None));
}
