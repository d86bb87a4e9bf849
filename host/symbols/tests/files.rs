//! Files as there are on machines: with and without symbols, movable or not, absent, and no programs at all.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use underbar_symbols::{Image, Machine, Symbols};

/// A program with a function and variables whose addresses it prints as lines of `name address`; None where there is no
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

/// Addresses as `nm` has them.
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
            // Much of the damage where the tables are described.
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
