//! The programs: their work, their requirements, and the way to run them.
//!
//! Adding one is an entry of the table. A batch program prints the same in every run; a server is loaded from outside with a
//! fixed number of operations. Each works in a folder of its own, which was prepared once, plain.
//!
//! Invariant: no entry opens a network port to others; servers listen on a socket in their folder, or on loopback.

/// One real program.
#[derive(Debug)]
pub struct Program {
    /// The name in the table and for `--workloads`.
    pub name: &'static str,
    /// Its work, in a few words.
    pub about: &'static str,
    /// Programs that must be on the path, each with its Debian package.
    pub needs: &'static [(&'static str, &'static str)],
    /// Shell text, run once in the program's folder before the first round. Empty: nothing to prepare.
    pub prepare: &'static str,
    /// The way to run it.
    pub work: Work,
}

/// The two kinds of programs.
#[derive(Debug)]
pub enum Work {
    /// It ends by itself: a number of turns of the command make one sample.
    Batch {
        /// The command.
        words: &'static [&'static str],
        /// The number of turns.
        turns: usize,
    },
    /// It serves until it gets a signal to end.
    Server {
        /// The command; it stays in the foreground.
        words: &'static [&'static str],
        /// Shell text that succeeds as soon as the server answers.
        ready: &'static str,
        /// Shell text that loads the server, with the same operations each time.
        load: &'static str,
        /// The number of these operations.
        operations: u64,
        /// The signal that ends it.
        stop: &'static str,
    },
}

const PYTHON: (&str, &str) = ("python3", "python3");
const GXX: (&str, &str) = ("g++", "g++");

/// Every program, small ones first, servers last.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "true",
        about: "the smallest program",
        needs: &[],
        prepare: "",
        work: Work::Batch { words: &["/bin/true"], turns: 40 },
    },
    Program {
        name: "ls",
        about: "ls -l of a folder of 2,000 files",
        needs: &[],
        prepare: "mkdir files && cd files && seq 1 2000 | xargs touch -d 2026-01-01",
        work: Work::Batch { words: &["ls", "-l", "files"], turns: 20 },
    },
    Program {
        name: "sh",
        about: "a shell with 150 children, one by one",
        needs: &[],
        prepare: "",
        work: Work::Batch {
            words: &["sh", "-c", "i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i+1)); done"],
            turns: 2,
        },
    },
    Program {
        name: "find",
        about: "names below /usr/share and /usr/lib",
        needs: &[],
        prepare: "",
        work: Work::Batch { words: &["find", "/usr/share", "/usr/lib", "-name", "*.so*"], turns: 2 },
    },
    Program {
        name: "grep",
        about: "a regular expression over 300,000 lines",
        needs: &[],
        prepare: LINES,
        work: Work::Batch { words: &["grep", "-c", "-E", "(7[0-9]+3).*\\1|99$", "lines"], turns: 1 },
    },
    Program {
        name: "sort",
        about: "300,000 lines, two threads",
        needs: &[],
        prepare: LINES,
        work: Work::Batch { words: &["sort", "--parallel=2", "-k2,2", "lines", "-o", "sorted"], turns: 1 },
    },
    Program {
        name: "gawk",
        about: "words counted in an array",
        needs: &[("gawk", "gawk")],
        prepare: LINES,
        work: Work::Batch {
            words: &[
                "gawk",
                "{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) s += n[w]; print length(n), s }",
                "lines",
            ],
            turns: 1,
        },
    },
    Program {
        name: "xz",
        about: "300,000 lines compressed by two threads",
        needs: &[("xz", "xz-utils")],
        prepare: LINES,
        work: Work::Batch { words: &["xz", "-T2", "-1", "--block-size=1MiB", "-k", "-f", "lines"], turns: 1 },
    },
    Program {
        name: "jq",
        about: "30,000 objects grouped",
        needs: &[("jq", "jq")],
        prepare: "seq 1 30000 | awk '{ print \"{\\\"id\\\":\" $1 \",\\\"kind\\\":\\\"k\" $1 % 97 \"\\\"}\" }' > objects",
        work: Work::Batch { words: &["jq", "-s", "group_by(.kind) | map({k: .[0].kind, n: length}) | length", "objects"], turns: 1 },
    },
    Program {
        name: "gcc",
        about: "a C file of 1,500 functions, -O1",
        needs: &[("gcc", "gcc")],
        prepare: "seq 1 1500 | awk '{ print \"int f\" $1 \"(int a, int b) { int s = 0; for (int i = 0; i < a; i++) s += (i * \" $1 \") ^ b; return s; }\" }' > file.c",
        work: Work::Batch { words: &["gcc", "-O1", "-c", "file.c", "-o", "file.o"], turns: 1 },
    },
    Program {
        name: "g++",
        about: "a file with <regex>, <map> and <iostream>",
        needs: &[GXX],
        prepare: "printf '#include <regex>\\n#include <map>\\n#include <iostream>\\nint main() { std::map<std::string, int> m; std::regex r(\"a+b\"); m[\"x\"] = std::regex_match(\"aab\", r); std::cout << m.size(); }\\n' > file.cpp",
        work: Work::Batch { words: &["g++", "-O1", "-c", "file.cpp", "-o", "file.o"], turns: 1 },
    },
    Program {
        name: "make",
        about: "make -j2 of 24 C files",
        needs: &[("make", "make"), ("gcc", "gcc")],
        prepare: "for n in $(seq 1 24); do printf '#include <stdio.h>\\n#include <stdlib.h>\\nint f%d(void) { return printf(\"%d\"); }\\n' $n $n > f$n.c; done; printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\\n%%.o: %%.c\\n\\t@gcc -O1 -c $< -o $@\\n' > Makefile",
        work: Work::Batch { words: &["make", "-s", "-B", "-j2"], turns: 1 },
    },
    Program {
        name: "python3 json",
        about: "JSON written and read, 40,000 objects",
        needs: &[PYTHON],
        prepare: "",
        work: Work::Batch {
            words: &[
                "/usr/bin/python3",
                "-c",
                "import json\nd = [{'n': i, 't': 'x' * (i % 50), 'l': [i, i + 1]} for i in range(40000)]\nfor _ in range(3): s = json.dumps(d); d = json.loads(s)\nprint(len(s))",
            ],
            turns: 1,
        },
    },
    Program {
        name: "python3 threads",
        about: "four threads with byte arrays",
        needs: &[PYTHON],
        prepare: "",
        work: Work::Batch {
            words: &[
                "/usr/bin/python3",
                "-c",
                "import threading\ndef f():\n  for i in range(4000): b = [bytearray(1000 * (1 + (i + j) % 60)) for j in range(8)]\nt = [threading.Thread(target=f) for _ in range(4)]\nfor x in t: x.start()\nfor x in t: x.join()\nprint('done')",
            ],
            turns: 1,
        },
    },
    Program {
        name: "numpy",
        about: "arrays made and multiplied",
        needs: &[("/usr/lib/python3/dist-packages/numpy/__init__.py", "python3-numpy")],
        prepare: "",
        work: Work::Batch {
            words: &[
                "/usr/bin/python3",
                "-c",
                "import numpy as n\na = n.arange(250000.0).reshape(500, 500)\nfor i in range(60): b = (a * i + 1).T.copy(); c = n.sort(b, axis=1)\nprint(c.sum())",
            ],
            turns: 1,
        },
    },
    Program {
        name: "perl",
        about: "a hash of 300,000 strings",
        needs: &[("perl", "perl")],
        prepare: "",
        work: Work::Batch {
            words: &["perl", "-e", "for (1..300000) { $h{\"key $_\"} = 'v' x ($_ % 40) } delete $h{\"key $_\"} for 1..100000; print scalar(keys %h), \"\\n\""],
            turns: 1,
        },
    },
    Program {
        name: "lua",
        about: "300,000 tables with strings, a third replaced five times",
        needs: &[("lua5.4", "lua5.4")],
        prepare: "",
        work: Work::Batch {
            words: &["lua5.4", "-e", "local t = {}
for i = 1, 300000 do t[i] = {id = i, name = 'n' .. i, v = i * 1.5} end
local s = 0
for r = 1, 5 do for i = 1, #t do s = s + t[i].v; if i % 3 == 0 then t[i] = {id = i, name = 'm' .. (i * r), v = i} end end end
print(s)"],
            turns: 1,
        },
    },
    Program {
        name: "ruby",
        about: "strings, hashes and blocks",
        needs: &[("ruby", "ruby")],
        prepare: "",
        work: Work::Batch {
            words: &["ruby", "-e", "h = {}; 300_000.times { |i| h[\"key #{i}\"] = [i, i.to_s * 3] }; puts h.sum { |k, v| v[1].size }"],
            turns: 1,
        },
    },
    Program {
        name: "php",
        about: "arrays and regular expressions",
        needs: &[("php", "php-cli")],
        prepare: "",
        work: Work::Batch {
            words: &["php", "-r", "$a = []; for ($i = 0; $i < 400000; $i++) $a[\"k$i\"] = str_repeat('x', $i % 30); $n = 0; foreach ($a as $k => $v) $n += preg_match('/7+x?$/', $k); echo $n, \"\\n\";"],
            turns: 1,
        },
    },
    Program {
        name: "node",
        about: "maps, JSON and buffers",
        needs: &[("node", "nodejs")],
        prepare: "",
        work: Work::Batch {
            words: &["node", "-e", "const m = new Map(); for (let i = 0; i < 300000; i++) m.set('k' + i, { i, s: 'x'.repeat(i % 20) }); const s = JSON.stringify([...m.values()]); console.log(s.length, Buffer.from(s).toString('base64').length)"],
            turns: 1,
        },
    },
    Program {
        name: "javac",
        about: "a class of 400 methods compiled",
        needs: &[("javac", "default-jdk-headless")],
        prepare: "(echo 'class Many {'; seq 1 400 | awk '{ print \"static String f\" $1 \"(int a) { return a > \" $1 \" ? \\\"x\\\" + a : f\" ($1 > 1 ? $1 - 1 : 400) \"(a + 1); }\" }'; echo '}') > Many.java",
        work: Work::Batch { words: &["javac", "Many.java"], turns: 1 },
    },
    Program {
        name: "go",
        about: "go build of a small program; Go's tools are static",
        needs: &[("go", "golang-go")],
        prepare: "printf 'package main\\nimport \"fmt\"\\nfunc main() { fmt.Println(1) }\\n' > main.go",
        work: Work::Batch {
            words: &["sh", "-c", "rm -rf cache; mkdir cache; GOCACHE=$PWD/cache GOPATH=$PWD/cache GO111MODULE=off GOFLAGS=-p=2 go vet main.go && GOCACHE=$PWD/cache GOPATH=$PWD/cache GO111MODULE=off go list -deps fmt"],
            turns: 1,
        },
    },
    Program {
        name: "rustc",
        about: "a small program compiled",
        needs: &[("rustc", "rustc")],
        prepare: "printf 'use std::collections::BTreeMap;\\nfn main() { let m: BTreeMap<u32, String> = (0..9).map(|n| (n, n.to_string())).collect(); println!(\"{m:?}\"); }\\n' > file.rs",
        work: Work::Batch { words: &["rustc", "-O", "--crate-type=lib", "--emit=obj", "file.rs"], turns: 1 },
    },
    Program {
        name: "sqlite3",
        about: "200,000 rows in memory, an index, a join",
        needs: &[("sqlite3", "sqlite3")],
        prepare: "",
        work: Work::Batch {
            words: &[
                "sqlite3",
                ":memory:",
                "create table t (a integer primary key, b text); with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) insert into t select i, 'row ' || (i * 7919 % 200000) from n; create index x on t (b); select count(*), max(length(b)) from t join (select b as c from t where a % 3 = 0) on b = c;",
            ],
            turns: 1,
        },
    },
    Program {
        name: "git",
        about: "log --stat of 300 commits",
        needs: &[("git", "git")],
        prepare: "git init -q . && seq 1 300 | awk '{ print \"commit refs/heads/main\\ncommitter A <a@example.org> 1700000000 +0000\\ndata 1\\nx\\nM 100644 inline f\" $1 % 40 \"\\ndata <<E\\n\" $1 \"\\n\" $1 * 7 \"\\nE\\n\" }' | git fast-import --quiet && git repack -adq",
        work: Work::Batch { words: &["git", "log", "--stat", "-M", "main"], turns: 3 },
    },
    Program {
        name: "ffmpeg",
        about: "200 made pictures encoded as MPEG-4",
        needs: &[("ffmpeg", "ffmpeg")],
        prepare: "",
        work: Work::Batch {
            words: &["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=640x360:rate=25", "-frames:v", "200", "-threads", "2", "-c:v", "mpeg4", "-bitexact", "-f", "md5", "-"],
            turns: 1,
        },
    },
    Program {
        name: "convert",
        about: "a picture drawn, blurred and scaled",
        needs: &[("/usr/bin/convert", "imagemagick")],
        prepare: "",
        work: Work::Batch {
            words: &["/usr/bin/convert", "-limit", "thread", "2", "-seed", "1", "-size", "900x900", "plasma:red-blue", "-blur", "0x4", "-resize", "50%", "-format", "%w", "info:"],
            turns: 1,
        },
    },
    Program {
        name: "apt-cache",
        about: "every package that is known, with its dependencies",
        needs: &[("apt-cache", "apt")],
        prepare: "",
        work: Work::Batch { words: &["sh", "-c", "apt-cache dumpavail | tail -n 1; apt-cache search libssl | sort"], turns: 1 },
    },
    Program {
        name: "chromium",
        about: "a page with 3,000 elements, printed by a script",
        needs: &[("chromium", "chromium")],
        prepare: "printf '<p id=a></p><script>for (let i = 0; i < 3000; i++) { const e = document.createElement(\"b\"); e.textContent = i; document.getElementById(\"a\").appendChild(e) }</script>' > page.html",
        work: Work::Batch {
            words: &["sh", "-c", "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=\"$PWD/data\" --dump-dom \"file://$PWD/page.html\" 2> /dev/null"],
            turns: 1,
        },
    },
    Program {
        name: "redis",
        about: "600,000 pipelined requests, two threads of I/O",
        needs: &[("redis-benchmark", "redis-tools"), ("redis-cli", "redis-tools")],
        prepare: "ln -s \"$(command -v redis-server || command -v redis-check-rdb)\" redis-server",
        work: Work::Server {
            words: &["./redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no", "--io-threads", "2", "--logfile", "log"],
            ready: "redis-cli -s socket ping",
            load: "redis-benchmark -s socket -n 200000 -r 100000 -c 20 -P 16 -q -t set,lpush,lpop",
            operations: 600_000,
            stop: "TERM",
        },
    },
    Program {
        name: "memcached",
        about: "80,000 requests of eight connections",
        needs: &[("memcached", "memcached"), ("python3", "python3")],
        prepare: MEMCACHED_LOAD,
        work: Work::Server {
            words: &["sh", "-c", "exec memcached -u \"$(id -un)\" -s socket -t 4 -m 64"],
            ready: "test -S socket && echo version | python3 load.py 0",
            load: "python3 load.py 10000",
            operations: 80_000,
            stop: "TERM",
        },
    },
    Program {
        name: "mariadb",
        about: "sysbench oltp_read_only, 16 threads, 4,000 transactions",
        needs: &[("mariadbd|/usr/sbin/mariadbd", "mariadb-server-core"), ("mariadb", "mariadb-client-core"), ("sysbench", "sysbench")],
        prepare: "PATH=$PATH:/usr/sbin
mariadb-install-db --no-defaults --user=\"$(id -un)\" --datadir=\"$PWD/data\" --auth-root-authentication-method=normal --skip-name-resolve --skip-test-db > installed 2>&1
mariadbd --no-defaults --user=\"$(id -un)\" --datadir=\"$PWD/data\" --socket=\"$PWD/socket\" --skip-networking --log-error=errors.log &
server=$!
until mariadb --no-defaults --socket=\"$PWD/socket\" --user=root -e 'select 1' > /dev/null 2>&1; do kill -0 $server; done
mariadb --no-defaults --socket=\"$PWD/socket\" --user=root -e 'create database zoo'
sysbench oltp_read_only --mysql-socket=\"$PWD/socket\" --mysql-user=root --mysql-db=zoo --table-size=20000 prepare > prepared
kill $server; wait $server",
        work: Work::Server {
            words: &["sh", "-c", "PATH=$PATH:/usr/sbin; exec mariadbd --no-defaults --user=\"$(id -un)\" --datadir=\"$PWD/data\" --socket=\"$PWD/socket\" --skip-networking --skip-name-resolve --log-error=\"$PWD/errors.log\" --innodb-buffer-pool-size=64M"],
            ready: "mariadb --no-defaults --socket=\"$PWD/socket\" --user=root -e 'select 1'",
            load: "sysbench oltp_read_only --mysql-socket=\"$PWD/socket\" --mysql-user=root --mysql-db=zoo --table-size=20000 --threads=16 --time=0 --events=4000 --rand-seed=7 run",
            operations: 4_000,
            stop: "TERM",
        },
    },
    Program {
        name: "postgres",
        about: "pgbench, four clients, 2,000 transactions each",
        needs: &[("/usr/lib/postgresql/*/bin/postgres", "postgresql")],
        prepare: "for f in /usr/lib/postgresql/*/bin; do PATH=$f:$PATH; done
chmod 755 . && if [ \"$(id -u)\" = 0 ]; then as='setpriv --reuid=65534 --regid=65534 --clear-groups'; chown 65534:65534 .; else as=; fi
$as initdb -D \"$PWD/data\" -U zoo -A trust --no-locale -E UTF8 --no-sync > installed 2>&1
$as postgres -D \"$PWD/data\" -k \"$PWD\" -c listen_addresses= -c fsync=off > log 2>&1 &
server=$!
until psql -h \"$PWD\" -U zoo -d postgres -c 'select 1' > /dev/null 2>&1; do kill -0 $server; done
pgbench -h \"$PWD\" -U zoo -i -q -s 2 postgres > prepared 2>&1
kill -INT $server; wait $server",
        work: Work::Server {
            words: &["sh", "-c", "for f in /usr/lib/postgresql/*/bin; do PATH=$f:$PATH; done; if [ \"$(id -u)\" = 0 ]; then as='setpriv --reuid=65534 --regid=65534 --clear-groups'; else as=; fi; exec $as postgres -D \"$PWD/data\" -k \"$PWD\" -c listen_addresses= -c fsync=off -c shared_buffers=32MB"],
            ready: "psql -h \"$PWD\" -U zoo -d postgres -c 'select 1'",
            load: "pgbench -h \"$PWD\" -U zoo -n -c 4 -j 2 -t 2000 --random-seed=7 postgres",
            operations: 8_000,
            stop: "INT",
        },
    },
    Program {
        name: "nginx",
        about: "60,000 requests of a file of 4 KiB over one socket kept alive",
        needs: &[("nginx|/usr/sbin/nginx", "nginx-light"), ("ab", "apache2-utils")],
        prepare: "echo $((20000 + $$ % 20000)) > port; mkdir -p html logs && head -c 4096 /dev/zero > html/file && printf 'worker_processes 2; daemon off; error_log %s/logs/error; pid %s/pid; events {} http { access_log off; client_body_temp_path %s/t1; proxy_temp_path %s/t2; fastcgi_temp_path %s/t3; uwsgi_temp_path %s/t4; scgi_temp_path %s/t5; server { listen 127.0.0.1:%s; root %s/html; keepalive_requests 100000; } }' \"$PWD\" \"$PWD\" \"$PWD\" \"$PWD\" \"$PWD\" \"$PWD\" \"$PWD\" \"$(cat port)\" \"$PWD\" > conf",
        work: Work::Server {
            words: &["sh", "-c", "PATH=$PATH:/usr/sbin; exec nginx -c \"$PWD/conf\" -p \"$PWD\""],
            ready: "ab -q -n 1 http://127.0.0.1:$(cat port)/file",
            load: "ab -q -k -c 16 -n 60000 http://127.0.0.1:$(cat port)/file",
            operations: 60_000,
            stop: "TERM",
        },
    },
    Program {
        name: "apache2",
        about: "6,000 requests of a page by mod_php, four connections",
        needs: &[
            ("apache2|/usr/sbin/apache2", "apache2"),
            ("/usr/lib/apache2/modules/libphp*.so", "libapache2-mod-php"),
            ("ab", "apache2-utils"),
        ],
        prepare: APACHE,
        work: Work::Server {
            // It ends its whole process group, so it gets one of its own.
            words: &[
                "sh",
                "-c",
                "PATH=$PATH:/usr/sbin; port=$(cat port) php=$(ls /usr/lib/apache2/modules/libphp*.so | head -n 1); export PWD port php; exec setsid apache2 -d . -f \"$PWD/conf\" -DFOREGROUND",
            ],
            ready: "ab -q -n 1 http://127.0.0.1:$(cat port)/page.php",
            load: "ab -q -k -c 4 -n 6000 http://127.0.0.1:$(cat port)/page.php",
            operations: 6_000,
            stop: "TERM",
        },
    },
];

/// A page of 400 rows, and a server of four processes with PHP in it, with the zoo's configuration.
const APACHE: &str = concat!(
    r#"chmod 755 . && mkdir site && echo $((20000 + $$ % 20000)) > port
cat > site/page.php <<'END'
<?php
$rows = [];
for ($i = 0; $i < 400; $i++) { $rows["key$i"] = str_repeat(chr(97 + $i % 26), $i % 90); }
ksort($rows);
foreach ($rows as $key => $text) { echo preg_replace('/(.)\1{9}/', '<b>$1</b>', htmlspecialchars("$key: $text\n")); }
END
cat > conf <<'END'
"#,
    include_str!("../../../zoo/tests/programs/apache.conf"),
    r"StartServers 4
MaxRequestWorkers 4
MaxKeepAliveRequests 0
END"
);

/// 300,000 lines in `lines`.
const LINES: &str = "seq 1 300000 | awk '{ x = (x * 1103515245 + 12345) % 2147483648; print $1, x, \"word\" x % 5003 }' > lines";

/// `load.py N`: eight connections, each with N requests, nine gets to a set.
const MEMCACHED_LOAD: &str = r#"cat > load.py <<'END'
import socket, sys, threading
def one(count):
    s = socket.socket(socket.AF_UNIX); s.connect('socket'); f = s.makefile('rwb')
    for i in range(count):
        k = b'key%d' % (i * 31 % 5000)
        if i % 10 == 0:
            v = b'x' * (i % 900)
            f.write(b'set %s 0 0 %d\r\n%s\r\n' % (k, len(v), v)); f.flush(); assert f.readline() == b'STORED\r\n'
        else:
            f.write(b'get %s\r\n' % k); f.flush()
            while f.readline() != b'END\r\n': pass
    f.write(b'version\r\n'); f.flush(); assert f.readline().startswith(b'VERSION')
all = [threading.Thread(target=one, args=(int(sys.argv[1]),)) for _ in range(8)]
for t in all: t.start()
for t in all: t.join()
END"#;

#[cfg(test)]
mod tests {
    use super::{PROGRAMS, Work};

    #[test]
    fn names_are_unique_and_there_are_at_least_25_with_servers_among_them() {
        assert!(PROGRAMS.len() >= 25);
        let servers = PROGRAMS.iter().filter(|program| matches!(program.work, Work::Server { .. })).count();
        assert!(servers >= 5);
        for program in PROGRAMS {
            assert_eq!(
                PROGRAMS.iter().filter(|other| other.name == program.name).count(),
                1,
                "{}",
                program.name
            );
        }
    }
}
