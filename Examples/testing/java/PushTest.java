import static org.junit.jupiter.api.Assertions.assertEquals;

import carillon.testing.APNs;
import carillon.testing.CarillonTest;
import carillon.testing.Device;
import carillon.testing.Request;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.Signature;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests of what a backend does if everything works, and if something fails. */
@CarillonTest
class PushTest {
    @Test
    void aNotificationIsDelivered(APNs apns) throws Exception {
        HttpResponse<String> answer = new Provider(apns).send(apns.device().token());
        assertEquals(200, answer.statusCode());
        Request request = apns.await(Map.of("outcome", "delivered"));
        assertEquals(Map.of("aps", Map.of("alert", "Your order is ready")), request.payload());
        assertEquals(answer.headers().firstValue("apns-id").orElseThrow(), request.apnsID());
    }

    @Test
    void anAppThatWasRemovedIsTold(APNs apns) throws Exception {
        assertEquals(410, new Provider(apns).send(apns.device("removed").token()).statusCode());
    }

    @Test
    void aPhoneThatIsSwitchedOffGetsItLater(APNs apns) throws Exception {
        Device phone = apns.device("offline");
        assertEquals(200, new Provider(apns).send(phone.token()).statusCode());
        apns.await(Map.of("outcome", "stored"));
        phone.behave("online");
        apns.await(Map.of("outcome", "delivered"));
    }

    @Test
    void aBusyServerRefusesTheFirstAttempt(APNs apns) throws Exception {
        apns.rehearse(Map.of("answer", Map.of("reason", "ServiceUnavailable")), Map.of("first", 1));
        Provider provider = new Provider(apns);
        String token = apns.device().token();
        assertEquals(503, provider.send(token).statusCode());
        assertEquals(200, provider.send(token).statusCode());
        assertEquals(2, apns.await(2, Map.of(), Duration.ofSeconds(5)).size());
    }

    /** A small provider on java.net.http. Replace it with your own. */
    private static final class Provider {
        private final HttpClient client;
        private final String url, topic, token;

        Provider(APNs apns) throws Exception {
            url = apns.url();
            topic = apns.bundleID();
            client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(apns.sslContext()).build();
            var encoder = Base64.getUrlEncoder().withoutPadding();
            String text = encoder.encodeToString("{\"alg\":\"ES256\",\"kid\":\"%s\"}".formatted(apns.keyID()).getBytes()) + "."
                    + encoder.encodeToString("{\"iss\":\"%s\",\"iat\":%d}"
                            .formatted(apns.teamID(), Instant.now().getEpochSecond()).getBytes());
            Signature signature = Signature.getInstance("SHA256withECDSAinP1363Format");
            signature.initSign(apns.privateKey());
            signature.update(text.getBytes(StandardCharsets.US_ASCII));
            token = text + "." + encoder.encodeToString(signature.sign());
        }

        HttpResponse<String> send(String deviceToken) throws Exception {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/3/device/" + deviceToken))
                    .header("authorization", "bearer " + token).header("apns-topic", topic).header("apns-push-type", "alert")
                    .POST(HttpRequest.BodyPublishers.ofString("{\"aps\":{\"alert\":\"Your order is ready\"}}")).build();
            return client.send(request, HttpResponse.BodyHandlers.ofString());
        }
    }
}
