package carillon.testing;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.security.Signature;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;

/** A small backend on java.net.http. */
final class Backend {
    record Answer(int status, String apnsID, String reason, String detail) {}

    private final APNs apns;
    private final HttpClient client;
    private final String topic;
    private final String token;

    Backend(APNs apns) throws Exception { this(apns, apns.teamID(), apns.keyID(), apns.privateKey(), apns.bundleID()); }

    Backend(APNs apns, String teamID, String keyID, PrivateKey key, String topic) throws Exception {
        this.apns = apns;
        this.topic = topic;
        client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(apns.sslContext()).build();
        var encoder = Base64.getUrlEncoder().withoutPadding();
        String text = encoder.encodeToString(Json.write(Map.of("alg", "ES256", "kid", keyID)).getBytes()) + "."
                + encoder.encodeToString(
                        Json.write(Map.of("iss", teamID, "iat", Instant.now().getEpochSecond())).getBytes());
        Signature signature = Signature.getInstance("SHA256withECDSAinP1363Format");
        signature.initSign(key);
        signature.update(text.getBytes(StandardCharsets.US_ASCII));
        token = text + "." + encoder.encodeToString(signature.sign());
    }

    Answer send(String deviceToken, String payload) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(apns.url() + "/3/device/" + deviceToken))
                .header("authorization", "bearer " + token).header("apns-topic", topic)
                .header("apns-push-type", "alert").POST(HttpRequest.BodyPublishers.ofString(payload)).build();
        HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
        Object body = response.body().isEmpty() ? Map.of() : Json.read(response.body());
        return new Answer(response.statusCode(), response.headers().firstValue("apns-id").orElse(null),
                (String) ((Map<?, ?>) body).get("reason"), (String) ((Map<?, ?>) body).get("detail"));
    }
}
