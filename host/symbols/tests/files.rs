//! Files as found on machines: with and without symbols, relocatable or not, missing, and not programs at all.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use underbar_symbols::{Image, Machine, Symbols};

/// A program with a function and variables whose addresses it prints as lines of `name address`; None if there is no
/// compiler for it.
fn compiled(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let folder = env::temp_dir().join(format!("underbar-symbols-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join(format!("{name}.c"));
    let text = "\
        int shared_counter[8] = {1}; int zeroed[100]; static int own;\n\
        __attribute__((noinline)) int twice(int x) { own += x; return x * 2 + own; }\n\
        __attribute__((noinline)) static int hidden(int x) { return twice(x) + zeroed[x]; }\n\
        int main(int count, char **words) { return hidden(count) + shared_counter[count]; }\n";
    fs::write(&source, text).expect("written");
    let program = folder.join(name);
    let status = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(&source).args(flags).status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("skipped: {name}: no C compiler for {flags:?}");
        return None;
    }
    Some(program)
}

/// Addresses as in `nm`.
fn nm(program: &Path) -> Vec<(String, u64)> {
    let output = Command::new("nm").arg(program).output().expect("nm");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((words.nth(1)?.to_owned(), address))
        })
        .collect()
}

#[test]
fn functions_and_variables_have_their_names_wherever_the_program_is_linked() {
    for (name, flags) in [("pie", &["-pie", "-fPIE"][..]), ("fixed", &["-no-pie"]), ("static", &["-static"])]
    {
        let Some(program) = compiled(name, flags) else { continue };
        let symbols = Symbols::new();
        let known = nm(&program);
        let address = |name: &str| known.iter().find(|(symbol, _)| symbol == name).expect(name).1;
        for function in ["main", "twice", "hidden"] {
            let place = symbols.code(&program, address(function) + 1).expect(function);
            assert_eq!((place.symbol.as_str(), place.displacement), (function, 1), "{name}");
            let range = symbols.function(&program, address(function) + 1).expect(function);
            assert_eq!(range.start, address(function));
            let code = symbols.bytes(&program, range.clone());
            assert_eq!(code.len() as u64, range.end - range.start, "{name}: {function}");
        }
        for (variable, into) in [("shared_counter", 4), ("zeroed", 96), ("own", 0)] {
            let place = symbols.data(&program, address(variable) + into).expect(variable);
            assert_eq!((place.symbol.as_str(), place.displacement), (variable, into), "{name}");
        }
        assert_eq!(symbols.code(&program, address("own")), None);
        assert_eq!(symbols.section(&program, address("zeroed")).expect("a section").symbol, ".bss");
        assert_eq!(symbols.section(&program, address("main")).expect("a section").symbol, ".text");
        assert_eq!(symbols.code(&program, u64::MAX), None);
        assert_eq!(symbols.image(&program).expect("a file").machine(), Machine::X86_64);
        fs::remove_file(program).expect("removed");
    }
}

#[test]
fn stripped_files_have_functions_without_names() {
    let Some(program) = compiled("whole", &["-pie", "-fPIE"]) else { return };
    let stripped = program.with_file_name("stripped");
    assert!(Command::new("strip").arg("-o").arg(&stripped).arg(&program).status().expect("strip").success());
    let symbols = Symbols::new();
    let main = nm(&program).into_iter().find(|(name, _)| name == "main").expect("main").1;
    assert_eq!(symbols.code(&stripped, main + 1), None);
    assert_eq!(symbols.function(&stripped, main + 1).expect("of the unwind table").start, main);
    assert_eq!(symbols.section(&stripped, main).expect("a section").symbol, ".text");
    assert_eq!(symbols.build_id(&stripped), symbols.build_id(&program));
    for path in [program, stripped] {
        fs::remove_file(path).expect("removed");
    }
}

/// Runs objcopy; None if there is none.
fn objcopy(words: &[&std::ffi::OsStr]) -> Option<()> {
    let status = Command::new("objcopy").args(words).status().ok()?;
    assert!(status.success(), "{words:?}");
    Some(())
}

/// `outer` calls `leaf` in `within`, which is inlined.
const INLINED: &str = "\
    __attribute__((noinline)) void *leaf(int x) { return (void *)(long)(x * 3); }\n\
    static inline __attribute__((always_inline)) void *within(int x) {\n\
      return (char *)leaf(x + 1) + 1;\n\
    }\n\
    __attribute__((noinline)) void *outer(int x) {\n\
      return (char *)within(x) + 1;\n\
    }\n\
    int main(int count, char **words) { return outer(count) == words; }\n";

/// The longest list of functions at an address of `outer`, with their lines.
fn longest(program: &Path) -> Vec<String> {
    let outer = nm(program).iter().find(|(name, _)| name == "outer").expect("outer").1;
    let range = Symbols::new().function(program, outer).expect("its range");
    longest_at(program, &range.collect::<Vec<_>>())
}

fn longest_at(program: &Path, addresses: &[u64]) -> Vec<String> {
    let frames = Image::open(program).expect("a program").frames(addresses);
    let longest = frames.into_iter().max_by_key(Vec::len).expect("addresses");
    let text = |frame: &underbar_symbols::Frame| {
        let line = frame.line.as_ref().map_or(0, |line| line.line);
        format!("{}:{line}", frame.function.as_deref().unwrap_or("?"))
    };
    longest.iter().map(text).collect()
}

#[test]
fn lines_and_inlined_functions_also_come_from_a_separate_file() {
    let folder = env::temp_dir().join(format!("underbar-symbols-separate-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("inlined.c");
    fs::write(&source, INLINED).expect("written");
    let program = folder.join("inlined");
    let compile = Command::new("cc").args(["-g", "-O1", "-o"]).arg(&program).arg(&source).status();
    if !compile.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no C compiler");
        return;
    }
    let outer = nm(&program).iter().find(|(name, _)| name == "outer").expect("outer").1;
    let range = Symbols::new().function(&program, outer).expect("its range");
    let addresses: Vec<u64> = range.collect();
    let read = |path: &Path| longest_at(path, &addresses);
    let expected = ["within:3", "outer:6"];
    assert_eq!(read(&program), expected);
    for flag in ["--only-keep-debug", "--compress-debug-sections=zlib"] {
        let debug = folder.join("inlined.debug");
        let bare = folder.join("bare");
        if objcopy(&[flag.as_ref(), program.as_os_str(), debug.as_os_str()]).is_none() {
            eprintln!("skipped: no objcopy");
            return;
        }
        let link = format!("--add-gnu-debuglink={}", debug.display());
        let words = ["--strip-all".as_ref(), "--remove-section=.note.gnu.build-id".as_ref(), link.as_ref()];
        objcopy(&[&words[..], &[program.as_os_str(), bare.as_os_str()]].concat()).expect("objcopy");
        assert_eq!(read(&bare), expected, "{flag}");
        let symbols = Symbols::new();
        assert_eq!(symbols.code(&bare, outer).map(|place| place.symbol).as_deref(), Some("outer"));
        // Another program's data: its CRC is another one.
        let mut bytes = fs::read(&debug).expect("read");
        *bytes.last_mut().expect("bytes") ^= 1;
        fs::write(&debug, &bytes).expect("written");
        assert_eq!(read(&bare), [""; 0], "{flag}");
        fs::remove_file(&debug).expect("removed");
        assert_eq!(read(&bare), [""; 0], "{flag}");
    }
    let _ = fs::remove_dir_all(&folder);
}

/// `-gsplit-dwarf`: most of the data is in a `.dwo` file, or in one `.dwp` file beside the program.
#[test]
fn inlined_functions_also_come_from_files_of_their_own() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let folder = env::temp_dir().join(format!("underbar-symbols-split{version}-{}", process::id()));
        fs::create_dir_all(folder.join("build")).expect("a folder");
        fs::write(folder.join("inlined.c"), INLINED).expect("written");
        let compile = |level: &str, name: &str| {
            let words = [version, "-g", "-gsplit-dwarf", level, "-c", "-o", "build/inlined.o", "inlined.c"];
            let link = ["-o", name, "build/inlined.o"];
            [&words[..], &link].iter().all(|words| {
                Command::new("cc")
                    .args(*words)
                    .current_dir(&folder)
                    .status()
                    .is_ok_and(|status| status.success())
            })
        };
        if !compile("-O2", "other") || !folder.join("build/inlined.dwo").exists() {
            eprintln!("skipped: no C compiler with -gsplit-dwarf");
            return;
        }
        let data = folder.join("build/inlined.dwo");
        let of_another = fs::read(&data).expect("data");
        assert!(compile("-O1", "program"));
        let program = folder.join("program");
        let expected = ["within:3", "outer:6"];
        assert_eq!(longest(&program), expected, "{version}");
        let of_program = fs::read(&data).expect("data");
        assert_ne!(of_program, of_another);
        // Of another build, cut, and missing: the line is known, and that a file is missing.
        let is_missing = || {
            let outer = nm(&program).iter().find(|(name, _)| name == "outer").expect("outer").1;
            let frames = Image::open(&program).expect("a program").frames(&[outer]).concat();
            assert!(frames.iter().all(|frame| frame.lacks_file && frame.function.is_none()), "{frames:?}");
            assert_eq!(frames.len(), 1, "{frames:?}");
        };
        for wrong in [&of_another[..], &of_program[..of_program.len() / 2], b""] {
            fs::write(&data, wrong).expect("written");
            is_missing();
        }
        fs::remove_file(&data).expect("removed");
        is_missing();
        // Moved beside the program.
        fs::write(folder.join("inlined.dwo"), &of_program).expect("written");
        assert_eq!(longest(&program), expected, "{version}");
        fs::rename(folder.join("inlined.dwo"), &data).expect("back");
        // All of the program's in one. The tool of Debian packs those of DWARF 4 only.
        let words = ["-e", "program", "-o", "program.dwp"];
        let packed = Command::new("dwp").args(words).current_dir(&folder).output();
        if packed.is_ok_and(|done| done.status.success()) {
            fs::remove_file(&data).expect("removed");
            assert_eq!(longest(&program), expected, "{version}, in a package");
        } else {
            eprintln!("not checked: no dwp for {version}");
        }
        fs::remove_dir_all(&folder).expect("removed");
    }
}

#[test]
fn wrong_debug_data_does_no_harm() {
    let Some(program) = compiled("wrong-data", &["-g"]) else { return };
    let symbols = Symbols::new();
    let main = nm(&program).iter().find(|(name, _)| name == "main").expect("main").1;
    let addresses: Vec<u64> = symbols.function(&program, main).expect("its range").collect();
    let bytes = fs::read(&program).expect("read");
    let info = bytes.windows(4).rposition(|four| four == b".c\0/").unwrap_or(bytes.len() / 2);
    // Around the data, one byte each; and cut off.
    for at in (bytes.len() / 3..info.min(bytes.len())).step_by(7) {
        for value in [0, 0x7f, 0xff] {
            let mut wrong = bytes.clone();
            wrong[at] = value;
            if let Some(image) = Image::from_bytes(wrong) {
                drop(image.frames(&addresses));
            }
        }
    }
    for length in (0..bytes.len()).step_by(97) {
        if let Some(image) = Image::from_bytes(bytes[..length].to_vec()) {
            drop(image.frames(&addresses));
        }
    }
}

#[test]
fn offsets_become_addresses() {
    let symbols = Symbols::new();
    let own = env::current_exe().expect("a path");
    let maps = fs::read_to_string("/proc/self/maps").expect("maps");
    let fields = |line: &str| {
        let mut words = line.split_whitespace();
        let hex = |text: &str| u64::from_str_radix(text, 16).expect("a number");
        let (start, end) = words.next()?.split_once('-')?;
        let code = words.next()?.contains('x');
        let offset = hex(words.next()?);
        (code && Path::new(words.nth(2)?) == own).then(|| (hex(start)..hex(end), offset))
    };
    let (range, offset) = maps.lines().find_map(fields).expect("our code");
    let here = offsets_become_addresses as fn() as usize as u64;
    assert!(range.contains(&here));
    let address = symbols.address(&own, here - range.start + offset).expect("mapped");
    let place = symbols.code(&own, address).expect("a name");
    assert!(place.symbol.ends_with("offsets_become_addresses") && place.displacement == 0, "{place:?}");
    assert_eq!(symbols.address(&own, u64::MAX), None);
}

#[test]
fn the_c_library_and_the_kernel_s_own_are_read() {
    let maps = fs::read_to_string("/proc/self/maps").expect("maps");
    let path =
        maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("libc.so"));
    let path = Path::new(path.expect("the C library"));
    let symbols = Symbols::new();
    assert!(symbols.image(path).expect("read").has_symbols() && symbols.build_id(path).is_some());
    let vdso = Path::new("[vdso]");
    let image = symbols.image(vdso).expect("the kernel's own");
    let named = (0..0x4000).filter_map(|address| image.code(address)).map(|place| place.symbol);
    assert!(named.collect::<Vec<_>>().iter().any(|name| name.ends_with("clock_gettime")));
}

#[test]
fn what_is_no_program_has_no_names() {
    let symbols = Symbols::new();
    for path in
        ["/no/such/file", "/etc", "/dev/null", "/etc/passwd", "", "//anon", "[heap]", "/proc/self/mem"]
    {
        let path = Path::new(path);
        assert_eq!(
            (symbols.code(path, 1), symbols.data(path, 1), symbols.section(path, 1)),
            (None, None, None)
        );
        assert_eq!(
            (symbols.address(path, 1), symbols.function(path, 1), symbols.build_id(path)),
            (None, None, None)
        );
        assert!(symbols.bytes(path, 0..100).is_empty());
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let Some(program) = compiled("noise", &["-pie", "-fPIE"]) else { return };
    let whole = fs::read(&program).expect("read");
    fs::remove_file(program).expect("removed");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut read = 0;
    for round in 0..600_usize {
        let mut bytes = whole[..whole.len() - round * whole.len() / 1_500].to_vec();
        for _ in 0..16 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Much of the damage in the part that describes the tables.
            let room = if state & 1 == 0 { 1_024 } else { bytes.len() };
            let place = usize::try_from(state >> 8).expect("64 bits") % room;
            bytes[place] = (state >> 3) as u8;
        }
        let Some(image) = Image::from_bytes(bytes) else { continue };
        read += 1;
        for address in [0, 1, 0x1139, 0x4010, state, u64::MAX] {
            let _ =
                (image.code(address), image.data(address), image.section(address), image.address(address));
            let range = image.function(address).unwrap_or(address..u64::MAX);
            let _ = image.bytes(range);
        }
    }
    assert!(read > 0, "some of it still looks like a program");
}

/// A shared object with these notes in sections of their own, each of this many bytes from the first, and with functions whose
/// names are all in one text, each from another byte of it on.
fn overlapping(notes: &[u64], functions: usize, text: usize) -> Vec<u8> {
    let half = |numbers: &[u16]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let word = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let long = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    // One note: the build-id 0A0B.
    let note = [word(&[4, 2, 3]), b"GNU\0".to_vec(), vec![10, 11, 0, 0]].concat();
    let names = [b"\0".to_vec(), vec![b'a'; text], b"\0".to_vec()].concat();
    let symbols: Vec<u8> = (0..functions)
        .flat_map(|at| {
            [word(&[1 + (at % text) as u32]), vec![0x12, 0], half(&[1]), long(&[4096 + 8 * at as u64, 8])]
        })
        .flatten()
        .collect();
    let (note_at, name_at) = (64, 64 + note.len() as u64);
    let symbol_at = name_at + names.len() as u64;
    let header_at = symbol_at + symbols.len() as u64;
    let section = |kind: u32, at: u64, length: u64, link: u32, entry: u64| {
        [word(&[0, kind]), long(&[2, 0, at, length]), word(&[link, 0]), long(&[8, entry])].concat()
    };
    let mut file = b"\x7FELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([half(&[3, 62]), word(&[1]), long(&[0, 0, header_at]), word(&[0])].concat());
    file.extend(half(&[64, 56, 0, 64, 3 + notes.len() as u16, 2]));
    file.extend([note, names.clone(), symbols.clone(), vec![0; 64]].concat());
    file.extend(section(11, symbol_at, symbols.len() as u64, 2, 24));
    file.extend(section(3, name_at, names.len() as u64, 0, 0));
    notes.iter().for_each(|length| file.extend(section(7, note_at, *length, 0, 0)));
    file
}

#[test]
fn names_that_lie_one_in_the_other_take_no_memory_of_their_own() {
    for (functions, text) in [(200, 100), (200_000, 400_000)] {
        // 200,000 names of up to 400,000 bytes each would be 60 GB of names.
        let image = Image::from_bytes(overlapping(&[], functions, text)).expect("a file");
        for at in [0, 5, functions - 1] {
            let name = image.code(4096 + 8 * at as u64).expect("a name").symbol;
            // A long name is printed in part.
            let shown = name.trim_end_matches('…');
            assert!(!shown.is_empty() && shown.bytes().all(|byte| byte == b'a'), "{at}: {name}");
            assert!(shown.len() <= text - at % text, "{at}: {}", shown.len());
        }
    }
}

#[test]
fn notes_that_lie_one_in_the_other_are_none() {
    let build_id = |notes: &[u64]| {
        let image = Image::from_bytes(overlapping(notes, 1, 10)).expect("a file");
        image.build_id().map(<[u8]>::to_vec)
    };
    assert_eq!(build_id(&[20]), Some(vec![10, 11]));
    assert_eq!(build_id(&[0, 20]), Some(vec![10, 11]));
    assert_eq!(build_id(&[20; 100]), Some(vec![10, 11]), "as long as they are not longer than the file");
    assert_eq!(build_id(&[20, 1 << 40]), None);
}
