//! Programs that people run, with the same exit status, output and files under underbar as plain.
//!
//! Adding a program is one entry of the table below; it becomes a test of that name. Steps must print the same in
//! two plain runs: no times, addresses, process numbers or orders of a hash. Bounded in size: two or three minutes
//! for all on two processors. The comparison is in `src/real.rs`.

use underbar_zoo::real::{Content, Program, same_under_underbar};

/// One test per entry.
macro_rules! programs {
    ($($(#[doc = $about:literal])* $name:ident: $program:expr;)*) => {
        $($(#[doc = $about])* #[test]
        fn $name() {
            same_under_underbar(stringify!($name), &$program);
        })*
    };
}

programs! {
    /// Objects, JSON, regular expressions, threads and child processes; CPython's own small-object allocator.
    python3: Program {
        needs: &["python3"],
        files: &[("program.py", Content::Text(include_str!("programs/program.py")))],
        steps: &[(3, &["python3", "-c", "import sys; sys.exit(3)"]), (0, &["python3", "program.py"])],
        outputs: &["out.json"],
        proof: "done",
        ..Program::default()
    };
    /// The same with every object from malloc.
    python3_malloc: Program {
        needs: &["python3"],
        files: &[("program.py", Content::Text(include_str!("programs/program.py")))],
        steps: &[(0, &["env", "PYTHONMALLOC=malloc", "python3", "program.py"])],
        outputs: &["out.json"],
        proof: "done",
        ..Program::default()
    };
    /// Hashes, closures, regular expressions, a pipe to a child.
    perl: Program {
        needs: &["perl"],
        files: &[("program.pl", Content::Text(include_str!("programs/program.pl")))],
        steps: &[
            (137, &["perl", "-e", "print STDERR 'x' x 70000; kill 9, $$"]),
            (0, &["perl", "program.pl"]),
        ],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// A C++ file with much of the standard library: driver, compiler proper and assembler; the same object.
    gxx: Program {
        needs: &["g++"],
        files: &[("program.cpp", Content::Text(include_str!("programs/program.cpp")))],
        steps: &[
            (0, &["g++", "-std=c++17", "-O2", "-frandom-seed=1", "-c", "program.cpp", "-o", "program.o"]),
            (1, &["g++", "-std=c++17", "-c", "no-such-file.cpp"]),
            (0, &["g++", "-o", "program", "program.o"]),
            (4, &["./program"]),
        ],
        outputs: &["program.o", "program"],
        proof: "caught",
        ..Program::default()
    };
    /// 100,000 inserts one by one, an index, and the check of the whole file.
    sqlite3: Program {
        needs: &["sqlite3"],
        files: &[("insert.sql", Content::Made(inserts))],
        steps: &[
            (1, &["sqlite3", "-bail", "data.db", "select nothing from nowhere"]),
            (0, &["sqlite3", "data.db", ".read insert.sql"]),
        ],
        outputs: &["data.db"],
        proof: "ok\n100000\n",
        ..Program::default()
    };
    /// Objects, maps, buffers, promises, a worker thread and a child process.
    node: Program {
        needs: &["node"],
        files: &[("program.js", Content::Text(include_str!("programs/program.js")))],
        steps: &[(9, &["node", "-e", "process.exitCode = 9"]), (0, &["node", "program.js"])],
        outputs: &["out.json"],
        proof: "done",
        ..Program::default()
    };
    /// A repository of sixty commits, packed, cloned through the pack protocol and checked.
    git: Program {
        needs: &["git"],
        files: &[("program.sh", Content::Text(include_str!("programs/git.sh")))],
        steps: &[
            (128, &["git", "-C", "no-such-folder", "status"]),
            (0, &["sh", "-eu", "program.sh"]),
        ],
        outputs: &["copy/file-60"],
        proof: "done",
        ..Program::default()
    };
    /// 500,000 lines, in memory by two threads, and through temporary files by number.
    sort: Program {
        needs: &["sort"],
        files: &[("lines", Content::Made(lines))],
        steps: &[
            (0, &["sort", "--parallel=2", "lines", "-o", "by-name"]),
            (0, &["sort", "-n", "-k2,2", "-S", "8M", "-T", ".", "lines", "-o", "by-number"]),
            (1, &["sort", "-c", "lines"]),
            (0, &["wc", "-l", "by-name"]),
        ],
        outputs: &["by-name", "by-number"],
        proof: "500000 by-name",
        ..Program::default()
    };
    /// An archive compressed by two threads, unpacked again, compared.
    tar_xz: Program {
        needs: &["tar", "xz"],
        files: &[("data/lines", Content::Made(lines)), ("data/inserts", Content::Made(inserts))],
        steps: &[(0, &["sh", "-eu", "-c", TAR_XZ])],
        outputs: &["data.tar.xz", "again/data/lines"],
        proof: "done",
        ..Program::default()
    };
    /// The compiler itself (with another allocator linked into it), and what it made.
    rust: Program {
        needs: &["rustc"],
        files: &[("program.rs", Content::Text(include_str!("programs/program.rs")))],
        steps: &[
            (0, &["rustc", "-O", "--edition", "2021", "program.rs", "-o", "program"]),
            (101, &["./program", "panic"]),
            (0, &["./program"]),
        ],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// A server on a socket in the scratch folder, loaded, asked, and ended by its process number.
    redis: Program {
        needs: &["redis-server|redis-check-rdb", "redis-benchmark", "redis-cli"],
        files: &[("program.sh", Content::Text(include_str!("programs/redis.sh")))],
        steps: &[(0, &["sh", "-eu", "program.sh"])],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// Opens its extensions with RTLD_DEEPBIND; a child process and a shell.
    php: Program {
        needs: &["php"],
        files: &[("program.php", Content::Text(include_str!("programs/program.php")))],
        steps: &[
            (0, &["php", "-v"]),
            (255, &["php", "-r", "fwrite(STDERR, 'x'); no_such_function();"]),
            (0, &["php", "program.php"]),
        ],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// Its server of FastCGI, whose two workers are replaced every five requests.
    php_fpm: Program {
        needs: &["php", "php-fpm|/usr/sbin/php-fpm8.2|/usr/sbin/php-fpm8.3|/usr/sbin/php-fpm8.4"],
        files: &[
            ("program.php", Content::Text(include_str!("programs/program.php"))),
            ("fastcgi.php", Content::Text(include_str!("programs/fastcgi.php"))),
            ("program.sh", Content::Text(include_str!("programs/php_fpm.sh"))),
        ],
        steps: &[(0, &["sh", "-eu", "program.sh"])],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// Opens its modules with RTLD_DEEPBIND, and PHP among them.
    apache2: Program {
        needs: &[
            "php",
            "/usr/lib/apache2/modules/libphp8.2.so|/usr/lib/apache2/modules/libphp8.3.so|/usr/lib/apache2/modules/libphp8.4.so",
        ],
        files: &[
            ("program.php", Content::Text(include_str!("programs/program.php"))),
            ("apache.conf", Content::Text(include_str!("programs/apache.conf"))),
            ("program.sh", Content::Text(include_str!("programs/apache.sh"))),
        ],
        steps: &[(0, &["sh", "-eu", "program.sh"])],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// The distribution's Python and its extensions, all bound deeply.
    python3_deepbind: Program {
        needs: &["/usr/bin/python3", "/usr/lib/python3/dist-packages/numpy/__init__.py"],
        files: &[("program.py", Content::Text(include_str!("programs/deepbind.py")))],
        steps: &[(0, &["/usr/bin/python3", "program.py"])],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// Objects, regular expressions, threads, fibers, the compaction of its heap, children.
    ruby: Program {
        needs: &["ruby"],
        files: &[("program.rb", Content::Text(include_str!("programs/program.rb")))],
        steps: &[(3, &["ruby", "-e", "exit 3"]), (0, &["ruby", "program.rb"])],
        outputs: &["out.json"],
        proof: "done",
        ..Program::default()
    };
    /// A master and two workers, which are replaced by others when it reads its configuration anew.
    nginx: Program {
        needs: &["nginx|/usr/sbin/nginx", "perl"],
        files: &[("program.sh", Content::Text(include_str!("programs/nginx.sh")))],
        steps: &[(0, &["sh", "-eu", "program.sh"])],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// Its system tables, its server and its clients; more threads than processors.
    mariadb: Program {
        needs: &["mariadbd|/usr/sbin/mariadbd", "mariadb-install-db", "mariadb", "sysbench"],
        files: &[
            ("program.sh", Content::Text(include_str!("programs/mariadb.sh"))),
            ("counters.lua", Content::Text(include_str!("programs/counters.lua"))),
        ],
        steps: &[
            (0, &["sh", "-eu", "program.sh", "once"]),
            (0, &["sh", "-eu", "program.sh", "run"]),
        ],
        outputs: &[],
        proof: "done",
        ..Program::default()
    };
    /// Its system tables, and its server of many processes, that share memory.
    postgres: Program {
        needs: &["psql"],
        files: &[("program.sh", Content::Text(include_str!("programs/postgres.sh")))],
        steps: &[
            (0, &["sh", "-eu", "program.sh", "once"]),
            (0, &["sh", "-eu", "program.sh", "run"]),
        ],
        outputs: &[],
        proof: "done",
        refuses_superuser: true,
    };
    /// A browser without a window, with an allocator of its own inside: a page with a script, as text.
    chromium: Program {
        needs: &["chromium|chromium-headless-shell"],
        files: &[
            ("page.html", Content::Text(include_str!("programs/page.html"))),
            ("program.sh", Content::Text(include_str!("programs/chromium.sh"))),
        ],
        steps: &[(0, &["sh", "-eu", "program.sh"])],
        outputs: &[],
        proof: "rows 400, wide true, drawn 4494600, kept 66667, done</p>",
        ..Program::default()
    };
    /// Lists, a cache and a plan of three thousand packages that depend on each other; its methods are children.
    apt: Program {
        needs: &["apt", "apt-get", "apt-cache", "gzip"],
        files: &[
            ("repository/Packages", Content::Made(packages)),
            ("program.sh", Content::Text(include_str!("programs/apt.sh"))),
        ],
        steps: &[(0, &["sh", "-eu", "program.sh"])],
        outputs: &[],
        proof: "Inst thing-2998 (1.2-2998 localhost [all])",
        ..Program::default()
    };
    /// Pictures and sound, by threads, through four formats.
    ffmpeg: Program {
        needs: &["ffmpeg", "ffprobe"],
        files: &[("program.sh", Content::Text(include_str!("programs/ffmpeg.sh")))],
        steps: &[(0, &["sh", "-eu", "program.sh"])],
        outputs: &["film.mkv", "gray.mkv", "frames.txt"],
        proof: "ffv1,160,90,75",
        ..Program::default()
    };
}

const TAR_XZ: &str = "\
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644 -cf data.tar data/lines data/inserts
xz -T2 -2 --block-size=4MiB -k data.tar
mkdir again
xz -dc data.tar.xz | tar -C again -xf -
cmp data/lines again/data/lines
cmp data/inserts again/data/inserts
echo done";

/// SQL of 100,000 inserts in one transaction.
fn inserts() -> String {
    let mut text = String::from(
        "pragma journal_mode = off;\ncreate table t (a integer primary key, b text, c real);\nbegin;\n",
    );
    for (row, number) in numbers().take(100_000).enumerate() {
        let padding = "x".repeat(number as usize % 90);
        text.push_str(&format!(
            "insert into t values ({row}, 'row {number} {padding}', {}.5);\n",
            number % 1_000
        ));
    }
    text.push_str(
        "commit;\ncreate index i on t (b);\npragma integrity_check;\nselect count(*) from t;\n\
         select c, count(*), max(b) from t group by c order by 2 desc, 1 limit 20;\n",
    );
    text
}

/// A list of 3,000 packages, each of which depends on two with smaller numbers.
fn packages() -> String {
    let one = |number: u64| {
        format!(
            "Package: thing-{number}\nVersion: 1.{}-{number}\nArchitecture: all\n\
             Maintainer: Nobody <nobody@example.org>\nInstalled-Size: {number}\n\
             Depends: thing-{} (>= 1.0), thing-{}\nFilename: ./thing-{number}.deb\nSize: {number}00\n\
             SHA256: {:064}\nDescription: thing of number {number}\n One of many, of kind {}.\n\n",
            number % 7,
            number / 2 + 1,
            number / 3 + 1,
            0,
            number % 13
        )
    };
    (1..=3_000).map(one).collect()
}

/// 500,000 lines of a word and a number.
fn lines() -> String {
    numbers()
        .take(500_000)
        .map(|number| format!("{:x} {}\n", number.wrapping_mul(0x9E37_79B9), number % 1_000_003))
        .collect()
}

/// Numbers without end, always the same (xorshift).
fn numbers() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(88_172_645_463_325_252_u64), |number| {
        let mut next = *number;
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        Some(next)
    })
    .map(|number| number >> 20)
}
