package carillon.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPairGenerator;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What a backend does that sends with java.net.http. The tests run at the same time, over one service. */
@CarillonTest
@Execution(ExecutionMode.CONCURRENT)
class PushTest {
    private static final String HELLO = "{\"aps\":{\"alert\":\"Your order is ready\"}}";

    @Test
    void aNotificationIsDelivered(APNs apns) throws Exception {
        Backend.Answer answer = new Backend(apns).send(apns.device().token(), HELLO);
        assertEquals(200, answer.status());
        Request request = apns.await(Map.of("outcome", "delivered"));
        assertEquals(Map.of("aps", Map.of("alert", "Your order is ready")), request.payload());
        assertEquals(answer.apnsID(), request.apnsID());
        assertEquals(1, apns.requests(Map.of("status", 200, "payload", request.payload())).size());
    }

    @Test
    void theBackendIsToldThatAnAppWasRemoved(APNs apns) throws Exception {
        Backend.Answer answer = new Backend(apns).send(apns.device("removed").token(), HELLO);
        assertEquals(410, answer.status());
        assertEquals("Unregistered", answer.reason());
    }

    @Test
    void aPhoneThatIsSwitchedOffGetsItLater(APNs apns) throws Exception {
        Device phone = apns.device("offline");
        assertEquals(200, new Backend(apns).send(phone.token(), HELLO).status());
        apns.await(Map.of("outcome", "stored"));
        phone.behave("online");
        apns.await(Map.of("outcome", "delivered"));
    }

    @Test
    void aBusyServerRefusesTheFirstAttempt(APNs apns) throws Exception {
        Rehearsal rehearsal = apns.rehearse(Map.of("answer", Map.of("reason", "ServiceUnavailable")), Map.of("first", 1));
        Backend backend = new Backend(apns);
        String token = apns.device().token();
        assertEquals("ServiceUnavailable", backend.send(token, HELLO).reason());
        assertEquals(200, backend.send(token, HELLO).status());
        assertEquals(2, apns.await(2, Map.of(), Duration.ofSeconds(5)).size());
        assertEquals(1, rehearsal.fired());
    }

    @Test
    void anHourLaterTheProviderTokenIsTooOld(APNs apns) throws Exception {
        Backend backend = new Backend(apns);
        String token = apns.device().token();
        assertEquals(200, backend.send(token, HELLO).status());
        var before = apns.clock().now();
        assertTrue(apns.clock().advance(Duration.ofMinutes(61)).isAfter(before));
        // The advance has made it so old, so only going on with it after the first answer is a fault.
        assertEquals("ExpiredProviderToken", backend.send(token, HELLO).reason());
        assertEquals("ExpiredProviderToken", backend.send(token, HELLO).reason());
        List<String> findings = apns.report().stream().map(Finding::id).toList();
        assertTrue(findings.contains("provider-token-too-old"), findings.toString());
    }

    @Test
    @CarillonTest(teamID = "JAVATEAM01", bundleID = "com.example.shop.java", keyID = "JAVAKEY001")
    void identifiersOfTheBackendCanBeGiven(APNs apns) throws Exception {
        String token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";
        assertEquals(token, apns.deviceWithToken(token).token());
        assertEquals(200, new Backend(apns).send(token, HELLO).status());
        Request request = apns.await(Map.of("outcome", "delivered", "token", token));
        assertEquals(
                List.of("JAVATEAM01", "JAVAKEY001", "com.example.shop.java"),
                List.of(request.team(), request.keyID(), request.topic()));
    }

    @Test
    @CarillonTest(options = {"--conformance", "strict"})
    void aServiceWithOtherOptions(APNs apns) throws Exception {
        Backend.Answer answer = new Backend(apns).send(apns.device().token(), HELLO);
        assertEquals(403, answer.status());
        // The Guide wants :authority in another form of HPACK than java.net.http has. The option makes that a rule.
        assertTrue(answer.detail().startsWith("The header :authority came as a literal without indexing"), answer.detail());
        assertTrue(answer.detail().contains("; the Guide (2.3.4.1) requires it as a literal"), answer.detail());
    }

    @Test
    @CarillonTest(accept = "any")
    void aBackendMayHaveDataOfItsOwn(APNs apns) throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(new ECGenParameterSpec("secp256r1"));
        Backend backend = new Backend(
                apns, "STRANGE001", "STRANGEKEY", generator.generateKeyPair().getPrivate(), "com.example.own");
        String token = "5f21d20b2a4b1b8c1d7d3c3f6a3c7e1f5f21d20b2a4b1b8c1d7d3c3f6a3c7e1f";
        assertEquals(200, backend.send(token, HELLO).status());
        Request request = apns.await(Map.of("topic", "com.example.own", "outcome", "delivered"));
        assertEquals(List.of("STRANGE001", token), List.of(request.team(), request.token()));
    }

    @Test
    void anotherProcessGetsAllThatItHasToKnow(APNs apns) throws Exception {
        Map<String, String> variables = apns.environment();
        assertEquals(apns.url(), "https://" + variables.get("APNS_HOST") + ":" + variables.get("APNS_PORT"));
        assertEquals(apns.caPEM(), Files.readString(Path.of(variables.get("SSL_CERT_FILE"))));
        assertEquals(variables.get("APNS_PRIVATE_KEY"), Files.readString(Path.of(variables.get("APNS_KEY_FILE"))));
        assertEquals(List.of(apns.teamID(), apns.keyID(), apns.bundleID()),
                List.of(variables.get("APNS_TEAM_ID"), variables.get("APNS_KEY_ID"), variables.get("APNS_TOPIC")));
    }

    @RepeatedTest(200)
    void aTestSeesItsOwnRequests(APNs apns, RepetitionInfo info) throws Exception {
        long number = info.getCurrentRepetition();
        assertEquals(200, new Backend(apns).send(apns.device().token(), "{\"number\":" + number + "}").status());
        List<Request> requests = apns.await(1, Map.of("outcome", "delivered"), Duration.ofMinutes(1));
        assertEquals(Map.of("number", number), requests.get(0).payload());
        assertEquals(1, apns.requests().size());
    }
}
