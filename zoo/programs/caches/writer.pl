# Lines by Perl: writer.pl HOW ENDING LINES FILE. HOW is flush (a file) or print (standard output).
use strict;
use warnings;
use IO::Handle;
use POSIX ();

my ($how, $ending, $count, $path) = @ARGV;
my ($number, $out) = (0, \*STDOUT);
if ($how ne "print") { open($out, ">", $path) or die; }
$out->autoflush(1);

sub lines {
    for (1 .. $_[0]) {
        my $text = sprintf("%06d ", $number++);
        print $out $text . "x" x (132 - length $text) . "\n";
    }
}

lines($count);
if ($ending eq "exit") { exit 3 }
elsif ($ending eq "_exit") { POSIX::_exit(4) }
elsif ($ending eq "abort") { POSIX::abort() }
elsif ($ending eq "kill") { kill "KILL", $$; sleep 10 }
elsif ($ending eq "segv") { kill "SEGV", $$; sleep 10 }
elsif ($ending eq "exec") {
    open(STDERR, ">&", $out) or die;
    exec "/bin/sh", "-c", "echo from exec >&2; exit 6";
}
elsif ($ending eq "fork") {
    for (1 .. 3) {
        my $child = fork;
        if (!$child) { $number = 500000; lines(10); POSIX::_exit(0) }
        waitpid $child, 0;
        lines(10);
    }
}
elsif ($ending eq "run") { system "wc -c < $path >> counted"; lines(10); print $out `wc -c < $path`; lines(10) }
elsif ($ending eq "reopened" && $how ne "print") { close $out; open($out, ">>", $path) or die; $out->autoflush(1); lines(10) }
elsif ($ending eq "renamed" && $how ne "print") { close $out; rename $path, "$path.new" }
elsif ($ending eq "read-back") {
    for (1 .. 3) {
        open(my $seen, ">>", "seen") or die;
        print $seen -s $path, " ", -s $out, "\n";
        close $seen;
        lines(10);
    }
}
else { exit 99 }
