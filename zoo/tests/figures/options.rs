//! The origin of each option, in the order of the layers.

use super::*;

#[test]
fn options_say_where_they_were_set() {
    let folder = scratch("layers");
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("written");
        path
    };
    let own = folder.join("bin/program");
    fs::create_dir_all(folder.join("bin")).expect("a folder");
    executable::copy(program("segments"), &own);
    write("config/underbar/opts", "HEAP(1M,1M,,KEEP),STACK(1M),THREADSTACK(ON,1M),RPTSTG(OFF)\nTRACE(OFF)\n");
    write(
        "bin/underbar.opts",
        "HEAP(2M,2M),STACK(2M),THREADSTACK(ON,2M)\n[other]\nHEAP(9M)\n[program]\nHEAP(3M)",
    );
    let file = write("asked", "HEAP(,,,FREE),THREADSTACK(,3M)");
    let mut run = Command::new(underbar());
    run.args([
        "run",
        "--json",
        "--opts-file",
        text(&file),
        "--opts",
        "HEAP(,5M)",
        "--",
        text(&own),
        "1",
        "1",
    ]);
    run.env("XDG_CONFIG_HOME", folder.join("config"))
        .env("UNDERBAR_OPTS", "STACK(4M)")
        .env_remove("LD_PRELOAD");
    let result = left(&mut run);
    let report: Value =
        serde_json::from_str(&result.error).unwrap_or_else(|error| panic!("{error}: {result:?}"));
    let in_force = report["options"]["in_force"].as_array().expect("options");
    let check = |word: &str, option: &str, place: &str| {
        let found =
            in_force.iter().find(|entry| entry["option"].as_str().is_some_and(|text| text.starts_with(word)));
        let found = found.unwrap_or_else(|| panic!("{word} in {in_force:?}"));
        assert!(found["option"].as_str().is_some_and(|text| text.starts_with(option)), "{found}");
        assert_eq!(found["where_set"], place, "{found}");
    };
    check("HEAP(", "HEAP(3145728,5242880,ANYWHERE,FREE", "command line (--opts)");
    check("STACK(", "STACK(4194304,", "UNDERBAR_OPTS");
    check("THREADSTACK(", "THREADSTACK(ON,3145728", "options file (--opts-file)");
    check("STORAGE(", "STORAGE(", "underbar default");
    let counters = &report["processes"][0]["counters"]["heap"];
    assert_eq!(
        (counters["initial_size"].as_u64(), counters["increment_size"].as_u64()),
        (Some(3 * MIB), Some(5 * MIB))
    );
}
