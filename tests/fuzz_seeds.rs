//! What the fuzz targets check, on the seeds and on what was found once: without a fuzzer, and on
//! the stable toolchain.

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::{fs, path::Path};

/// Runs a check on every file of these folders, and says how many there are.
fn replay(target: &str, check: fn(&[u8]), folders: &[String]) -> usize {
    let files = folders.iter().flat_map(|folder| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder);
        fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path())
    });
    let run = |file: &Path| {
        println!("{target}: {}", file.display());
        check(&fs::read(file).unwrap());
    };
    files.inspect(|file| run(file)).count()
}

macro_rules! replayed {
    ($($target:ident: $seeds:literal, $least:literal;)*) => {
        $(
            #[test]
            fn $target() {
                let target = stringify!($target);
                let folders = [format!("seeds/{}", $seeds), format!("regressions/{target}")];
                let inputs = replay(target, fuzz::$target, &folders);
                assert!(inputs >= $least, "{inputs} inputs");
            }
        )*

        #[test]
        fn every_target_is_replayed() {
            let targets = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/fuzz_targets"));
            assert_eq!(targets.unwrap().count(), [$(stringify!($target)),*].len());
        }
    };
}

replayed! {
    adapters: "message", 150;
    chunking: "message", 150;
    control: "control", 40;
    disposition: "disposition", 50;
    envelope: "message", 150;
    http_head: "http_head", 15;
    oracle: "message", 150;
    parser: "message", 150;
    roundtrip: "roundtrip", 40;
    search: "search", 5;
}
