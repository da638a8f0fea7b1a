package carillon.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a server does that sends messages of Web Push without encryption, with java.net.http. */
@CarillonTest
class WebPushTest {
    private static int send(APNs apns, Subscription subscription, String text) throws Exception {
        HttpClient client = HttpClient.newBuilder().sslContext(apns.sslContext()).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create(subscription.endpoint())).header("TTL", "60")
                .POST(HttpRequest.BodyPublishers.ofString(text)).build();
        return client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
    }

    @Test
    void aMessageIsDeliveredAndTheTestReadsIt(APNs apns) throws Exception {
        Subscription subscription = apns.webPush(Map.of("kind", "offline"), Map.of("name", "alice", "plain", true));
        assertEquals(87, subscription.p256dh().length());
        assertEquals(22, subscription.auth().length());
        apns.rehearse(Map.of("answer", Map.of("reason", "TooManyRequests")), Map.of("first", 1), Map.of("protocol", "webpush"));
        assertEquals(429, send(apns, subscription, "first"));
        assertEquals(201, send(apns, subscription, "Grüße"));
        Request request = apns.await(Map.of("text", "Grüße", "outcome", "stored"));
        assertEquals("alice", request.subscription());
        assertEquals("Grüße", request.text());
        subscription.device().behave("online");
        apns.await(Map.of("text", "Grüße", "outcome", "delivered"));
        subscription.device().behave("removed");
        assertEquals(404, send(apns, subscription, "third"));
        WaitTimeout failure = assertThrows(
                WaitTimeout.class, () -> apns.await(1, Map.of("text", "another"), Duration.ofMillis(100)));
        assertTrue(failure.getMessage().contains("subscription alice, text \"Grüße\""), failure.getMessage());
    }

    @Test
    void aSubscriptionIsNotPlainByItself(APNs apns) throws Exception {
        assertEquals(415, send(apns, apns.webPush(), "x"));
    }
}
