<?php

declare(strict_types=1);

/**
 * Sends notifications with PHP's curl, as PHP's libraries for APNs do: one multi handle, whose transfers share a
 * connection.
 *
 * usage: php provider.php < DOCUMENT, a JSON dictionary with url, authority, headers, certificate, tokens and body.
 * Prints a line of JSON for each answer, in the order of the device tokens: status, id, and a reason if there is one.
 */

/** So many transfers are open at a time. */
const OPEN_TRANSFERS = 200;

$order = json_decode(stream_get_contents(STDIN), true, flags: JSON_THROW_ON_ERROR);
$multi = curl_multi_init();
curl_multi_setopt($multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
curl_multi_setopt($multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1);

/** @param string $id becomes the apns-id of the answer */
function transfer(array $order, string $token, string &$id): CurlHandle
{
    $handle = curl_init("{$order['url']}/3/device/$token");
    curl_setopt_array($handle, [
        CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_2_0,
        CURLOPT_CAINFO => $order['authority'],
        CURLOPT_HTTPHEADER => $order['headers'],
        CURLOPT_POSTFIELDS => $order['body'],
        CURLOPT_RETURNTRANSFER => true,
        // Wait for the first connection, and use it, in place of opening more.
        CURLOPT_PIPEWAIT => true,
        CURLOPT_HEADERFUNCTION => function (CurlHandle $handle, string $line) use (&$id): int {
            if (preg_match('/^apns-id: (\S+)/i', $line, $found)) {
                $id = $found[1];
            }
            return strlen($line);
        },
    ]);
    if ($order['certificate'] !== null) {
        curl_setopt($handle, CURLOPT_SSLCERT, $order['certificate']);
    }
    return $handle;
}

$tokens = $order['tokens'];
$ids = array_fill(0, count($tokens), '');
$answers = [];
$places = [];
$next = 0;
while (count($answers) < count($tokens)) {
    while ($next < count($tokens) && count($places) < OPEN_TRANSFERS) {
        $handle = transfer($order, $tokens[$next], $ids[$next]);
        $places[spl_object_id($handle)] = [$next, $handle];
        curl_multi_add_handle($multi, $handle);
        $next += 1;
    }
    curl_multi_exec($multi, $running);
    while ($message = curl_multi_info_read($multi)) {
        [$place, $handle] = $places[spl_object_id($message['handle'])];
        unset($places[spl_object_id($handle)]);
        if ($message['result'] !== CURLE_OK) {
            fwrite(STDERR, curl_strerror($message['result']) . ': ' . curl_error($handle) . "\n");
            exit(1);
        }
        $body = curl_multi_getcontent($handle);
        $answers[$place] = ['status' => curl_getinfo($handle, CURLINFO_RESPONSE_CODE), 'id' => $ids[$place]];
        if ($body !== '') {
            $answers[$place]['reason'] = json_decode($body, true, flags: JSON_THROW_ON_ERROR)['reason'];
        }
        curl_multi_remove_handle($multi, $handle);
    }
    if ($running > 0) {
        curl_multi_select($multi);
    }
}
ksort($answers);
foreach ($answers as $answer) {
    echo json_encode($answer), "\n";
}
