# A server on a socket in this folder, loaded by eight connections, asked for its contents, ended by its number.
PATH=$PATH:/usr/sbin
user=$(id -un)
ask() { mariadb --no-defaults --socket="$PWD/socket" --user=root --batch --skip-column-names "$@"; }
load() {
    script=$1
    shift
    sysbench "$script" --db-driver=mysql --mysql-socket="$PWD/socket" --mysql-user=root --mysql-db=zoo \
        --threads=8 --time=0 --rand-seed=7 "$@"
}
start() {
    mariadbd --no-defaults --user="$user" --datadir="$PWD/data" --socket="$PWD/socket" --pid-file="$PWD/pid" \
        --skip-networking --skip-name-resolve --log-error="$PWD/errors.log" --log-bin=binary --sync-binlog=0 \
        --innodb-log-file-size=8M --innodb-buffer-pool-size=16M --innodb-flush-log-at-trx-commit=2 2> warnings &
    server=$!
    tries=0
    until ask --execute='select 1' > /dev/null 2>&1; do
        tries=$((tries + 1))
        if [ "$tries" -gt 3000 ] || ! kill -0 "$server"; then
            cat errors.log
            exit 9
        fi
    done
}
stop() {
    kill "$server"
    status=0
    wait "$server" || status=$?
    echo "the server ended with $status"
}
if [ "$1" = once ]; then
    mariadb-install-db --no-defaults --user="$user" --datadir="$PWD/data" --auth-root-authentication-method=normal \
        --skip-name-resolve --skip-test-db --innodb-log-file-size=8M > installed 2>&1 || { cat installed; exit 8; }
    start
    ask <<'SQL'
create database zoo;
use zoo;
create table counters (id int primary key, n int not null) engine = innodb;
insert into counters values (1, 0), (2, 0), (3, 0), (4, 0);
create table entries (id int primary key auto_increment, thread int not null) engine = innodb;
SQL
    load oltp_read_write --table-size=1000 prepare > prepared || { cat prepared; exit 7; }
    stop
    exit
fi
start
for script in 'oltp_read_write --table-size=1000' ./counters.lua; do
    # In words: the first is the script.
    load $script --events=500 run > loaded || { cat loaded; exit 6; }
    sed -n 's/^ *transactions: *\([0-9]*\) .*/transactions: \1/p' loaded
done
ask zoo <<'SQL'
select 'counted', sum(n) from counters;
select 'entered', count(*), count(distinct thread) <= 8 from entries;
select 'rows', count(*), min(id), max(id) from sbtest1;
check table counters, entries, sbtest1;
select 'of text', count(*) from sbtest1 where length(c) = 119 and length(pad) = 59;
SQL
stop
echo done
