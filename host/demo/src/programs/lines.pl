# lines.pl FILE: the lines of lines.cc by Perl with $|.
use strict;
use warnings;
use IO::Handle;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

sub writes {
    open(my $counts, "<", "/proc/self/io") or return undef;
    local $/;
    return <$counts> =~ /syscw: (\d+)/ ? $1 : undef;
}

my $text = "x" x 132 . "\n";
my ($before, $start) = (writes(), clock_gettime(CLOCK_MONOTONIC));
open(my $out, ">", $ARGV[0]) or die;
$out->autoflush(1);
print $out $text for 1 .. 10000;
close($out) or die;
my ($elapsed, $after) = (clock_gettime(CLOCK_MONOTONIC) - $start, writes());
open(my $back, "<", $ARGV[0]) or die;
local $/;
my $all = <$back>;
my $sum = 0;
$sum += $_ for unpack "C*", $all;
printf "elapsed_ns=%d\nbytes=%d\nsum=%d\n", $elapsed * 1e9, length $all, $sum;
print "writes=", $after - $before, "\n" if defined $before;
