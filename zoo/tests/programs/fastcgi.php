<?php
// A client of FastCGI: asks the server behind ./socket for a script, and prints what it answers behind its headers.
$server = @stream_socket_client('unix://' . getcwd() . '/socket', $code, $message, 60) or exit(1);
$record = fn($type, $body) => pack('CCnnCC', 1, $type, 1, strlen($body), 0, 0) . $body;
$pairs = '';
foreach (['SCRIPT_FILENAME' => getcwd() . '/' . $argv[1], 'REQUEST_METHOD' => 'GET', 'QUERY_STRING' => ''] as $name => $value)
    $pairs .= pack('N', strlen($name) | 1 << 31) . pack('N', strlen($value) | 1 << 31) . $name . $value;
fwrite($server, $record(1, pack('nCx5', 1, 0)) . $record(4, $pairs) . $record(4, '') . $record(5, ''));
$answer = '';
while (strlen($head = (string) stream_get_contents($server, 8)) === 8) {
    $field = unpack('Cversion/Ctype/nid/nlength/Cpadding', $head);
    $body = $field['length'] ? stream_get_contents($server, $field['length']) : '';
    if ($field['padding']) stream_get_contents($server, $field['padding']);
    if ($field['type'] === 6) $answer .= $body;
    if ($field['type'] === 7) fwrite(STDERR, $body);
    if ($field['type'] === 3) break;
}
echo explode("\r\n\r\n", $answer, 2)[1] ?? exit(1);
