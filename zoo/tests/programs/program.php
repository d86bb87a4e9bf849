<?php
// Strings, arrays, regular expressions, JSON, XML, SQLite, multi-byte text, generators, a child process.
mt_srand(7);
$rows = [];
for ($i = 0; $i < 20000; $i++) $rows["key" . mt_rand()] = str_repeat(chr(97 + $i % 26), $i % 300);
ksort($rows);
echo count($rows), ' ', md5(implode(',', $rows)), "\n";
echo md5(json_encode($rows)), ' ', count(json_decode(json_encode($rows), true)), "\n";
echo preg_replace_callback('/(\w+)@(\w+)/u', fn($m) => strrev($m[1]) . ' at ' . $m[2], 'müller@host ada@lovelace'), "\n";
if (extension_loaded('mbstring')) echo mb_strtoupper(mb_substr('grüße aus köln', 0, 9)), "\n";
if (extension_loaded('dom')) {
    $document = new DOMDocument();
    $root = $document->appendChild($document->createElement('list'));
    for ($i = 0; $i < 2000; $i++) $root->appendChild($document->createElement('item', "value $i"))->setAttribute('n', "$i");
    $text = $document->saveXML();
    $again = new DOMDocument();
    $again->loadXML($text);
    echo strlen($text), ' ', (new DOMXPath($again))->query('//item[@n mod 7 = 0]')->length, "\n";
    @$again->loadXML('<broken');
}
if (class_exists('SQLite3')) {
    $base = new SQLite3(':memory:');
    $base->exec('create table t (a integer, b text)');
    $insert = $base->prepare('insert into t values (?, ?)');
    for ($i = 0; $i < 3000; $i++) {
        $insert->bindValue(1, $i);
        $insert->bindValue(2, "text $i");
        $insert->execute();
    }
    echo json_encode($base->querySingle('select count(*) c, sum(a) s, max(b) m from t', true)), "\n";
}
function numbers() { for ($i = 0; $i < 50000; $i++) yield $i => sqrt($i); }
$sum = 0;
foreach (numbers() as $i => $root) $sum += $root;
printf("%.6f\n", $sum);
if (PHP_SAPI === 'cli') {
    $child = proc_open([PHP_BINARY, '-r', 'echo strtoupper(stream_get_contents(STDIN)); exit(3);'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
    fwrite($pipes[0], str_repeat('from a child ', 1000));
    fclose($pipes[0]);
    echo md5(stream_get_contents($pipes[1])), "\n";
    fclose($pipes[1]);
    echo proc_close($child), "\n";
    echo trim(shell_exec('echo by the shell')), "\n";
}
try { intdiv(1, 0); } catch (DivisionByZeroError $error) { echo $error->getMessage(), "\n"; }
echo "done\n";
