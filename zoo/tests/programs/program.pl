# Hashes, closures, sorting, regular expressions, a long string, and a pipe to a child.
use strict;
use warnings;

my %count;
my $number = 1;
for my $step (1 .. 300_000) {
    $number = ($number * 48271) % 2147483647;
    $count{ "key" . $number % 50_000 }{$step % 7} += length($number);
}
my @order = sort { $a cmp $b } keys %count;
my $sum = 0;
for my $key (@order) { $sum += $_ for values %{ $count{$key} }; }
print scalar(@order), " keys, sum $sum, first $order[0], last $order[-1]\n";

my @adders = map { my $n = $_; sub { $_[0] + $n } } 1 .. 1000;
my $total = 0;
$total = $_->($total) for @adders;
print "closures $total\n";

my $text = join ' ', @order;
my $found = () = $text =~ /key\d*7\b/g;
(my $changed = $text) =~ s/key(\d)(\d*)/<$2-$1>/g;
print length($text), ' ', $found, ' ', length($changed), "\n";

open(my $child, '-|', $^X, '-e', 'print "child\n" for 1 .. 20000; exit 5') or die;
my $lines = 0;
$lines++ while <$child>;
close($child);
print "$lines lines, status ", $? >> 8, "\n";
print "done\n";
