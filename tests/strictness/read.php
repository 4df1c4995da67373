<?php
// Prints what PHP has read of the request, or of the JSON document that is its body.
if ($_SERVER['CONTENT_TYPE'] === 'application/json') {
    try {
        $document = [json_decode(file_get_contents('php://input'), true, 512, JSON_THROW_ON_ERROR)];
        array_walk_recursive($document, function (&$value) {
            $value = $value === INF ? 'Infinity' : $value;
        });
        $written = str_replace('"Infinity"', 'Infinity', json_encode($document[0], JSON_UNESCAPED_SLASHES));
        echo json_encode(['document' => $written]);
    } catch (JsonException $error) {
        echo json_encode(['refused' => $error->getMessage()]);
    }
    exit;
}
$parts = [];
foreach ($_POST as $name => $value) {
    $parts[] = [(string) $name, null, base64_encode(is_string($value) ? $value : json_encode($value))];
}
foreach ($_FILES as $name => $file) {
    $content = $file['error'] === UPLOAD_ERR_OK ? file_get_contents($file['tmp_name']) : '';
    $parts[] = [(string) $name, $file['name'], base64_encode($content)];
}
$error = error_get_last();
if ($error !== null && $parts === []) {
    echo json_encode(['refused' => $error['message']]);
} else {
    echo json_encode(['parts' => $parts], JSON_INVALID_UTF8_SUBSTITUTE);
}
