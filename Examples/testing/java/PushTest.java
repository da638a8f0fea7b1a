import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Instant;
import java.util.Base64;
import java.util.Objects;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Tests of what a backend does if everything works, and if something fails. They need only the JDK: java PushTest.java
 *
 * <p>The program exits with 1 if a test fails. If your project has a JSON library, use it instead of {@link #text}.
 */
class PushTest {
    static final HttpClient MANAGEMENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    static String ready;
    static int failed;

    public static void main(String[] arguments) throws Exception {
        String command = Objects.requireNonNullElse(System.getenv("CARILLON"), "carillon");
        Process carillon = new ProcessBuilder(command, "serve", "--store", "memory", "--ports", "ephemeral", "--json")
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try {
            ready = new BufferedReader(new InputStreamReader(carillon.getInputStream())).readLine();
            delivered(new Team("com.example.first"));
            appWasRemoved(new Team("com.example.second"));
            phoneIsOff(new Team("com.example.third"));
            busyServer(new Team("com.example.fourth"));
        } finally {
            carillon.destroy();
            carillon.waitFor();
        }
        System.exit(failed == 0 ? 0 : 1);
    }

    // The tests.

    static void delivered(Team team) throws Exception {
        Answer answer = team.send();
        expect("a notification is accepted", answer.status, 200);
        String seen = team.await("{\"outcome\":\"delivered\"}");
        expect("it was delivered", text(seen, "alert"), "Your order is ready");
        expect("under its identifier", text(seen, "apnsID"), answer.apnsID);
    }

    static void appWasRemoved(Team team) throws Exception {
        team.behave("removed");
        Answer answer = team.send();
        expect("an app that was removed is told", answer.status + " " + answer.reason, "410 Unregistered");
    }

    static void phoneIsOff(Team team) throws Exception {
        team.behave("offline");
        expect("a notification for a phone that is off is accepted", team.send().status, 200);
        team.await("{\"outcome\":\"stored\"}");
        team.behave("online");
        expect("it comes later", text(team.await("{\"outcome\":\"delivered\"}"), "outcome"), "delivered");
    }

    static void busyServer(Team team) throws Exception {
        team.rehearse("{\"first\":1}", "{\"answer\":{\"reason\":\"ServiceUnavailable\"}}");
        expect("a busy server refuses the first attempt", team.send().reason, "ServiceUnavailable");
        expect("and takes the second", team.send().status, 200);
    }

    static void expect(String what, Object got, Object wanted) {
        boolean isRight = Objects.equals(got, wanted);
        if (!isRight) failed++;
        System.out.println(isRight ? "ok: " + what : "FAILED: " + what + ": " + got + " instead of " + wanted);
    }

    // The part that you can keep in your own suite: a team with a phone, and its provider.

    static class Team {
        final String bundleID, id, deviceID, deviceToken, token;
        final HttpClient client;

        Team(String bundleID) throws Exception {
            this.bundleID = bundleID;
            String made = manage("POST", "/v1/fixtures", """
                    {"teams":[{"name":"Shop","apps":["%s"],"devices":[{"name":"phone"}]}]}""".formatted(bundleID));
            id = text(made, "teamID");
            deviceID = text(made, "deviceID");
            deviceToken = text(made.substring(made.indexOf("\"tokens\"")), bundleID);
            token = providerToken(id, text(made, "keyID"), text(made, "privateKey"));
            client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(trust(text(ready, "caPEM"))).build();
        }

        Answer send() throws Exception {
            String address = text(ready.substring(ready.indexOf("\"development\"")), "provider");
            HttpRequest request = HttpRequest.newBuilder(URI.create("https://" + address + "/3/device/" + deviceToken))
                    .header("authorization", "bearer " + token).header("apns-topic", bundleID)
                    .header("apns-push-type", "alert")
                    .POST(HttpRequest.BodyPublishers.ofString("{\"aps\":{\"alert\":\"Your order is ready\"}}")).build();
            HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
            return new Answer(response.statusCode(), response.headers().firstValue("apns-id").orElse(null),
                    text(response.body(), "reason"));
        }

        /** Waits for requests of this team that match, and returns the first. If none come, the error shows what came instead. */
        String await(String match) throws Exception {
            String ofTeam = match.replaceFirst("\\{", "{\"team\":\"" + id + "\",");
            return manage("POST", "/v1/requests/wait", "{\"match\":%s,\"timeout\":\"PT5S\"}".formatted(ofTeam));
        }

        /** Makes a fault happen to this team's requests only. */
        void rehearse(String when, String fault) throws Exception {
            manage("POST", "/v1/rehearsals", "{\"rules\":[{\"match\":{\"team\":\"%s\"},\"when\":%s,\"fault\":%s}]}"
                    .formatted(id, when, fault));
        }

        /** Changes what the phone does from now on. */
        void behave(String kind) throws Exception {
            manage("PATCH", "/v1/devices/" + deviceID, "{\"behaviour\":{\"kind\":\"%s\"}}".formatted(kind));
        }
    }

    record Answer(int status, String apnsID, String reason) {}

    static String manage(String method, String path, String body) throws Exception {
        String management = ready.substring(ready.indexOf("\"management\""));
        HttpRequest request = HttpRequest.newBuilder(URI.create(text(management, "url") + path))
                .header("Authorization", "Bearer " + text(management, "key")).header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body)).build();
        HttpResponse<String> answer = MANAGEMENT.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 300) throw new IllegalStateException(answer.body());
        return answer.body();
    }

    /** The first text of a JSON document with this key; null if there is none. */
    static String text(String json, String key) {
        var found = Pattern.compile("\"" + Pattern.quote(key) + "\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(json);
        return found.find() ? found.group(1).replace("\\n", "\n").replace("\\/", "/") : null;
    }

    static String providerToken(String team, String keyID, String pem) throws Exception {
        byte[] der = Base64.getMimeDecoder().decode(pem.replaceAll("-----[A-Z ]+-----", ""));
        var encoder = Base64.getUrlEncoder().withoutPadding();
        String text = encoder.encodeToString("{\"alg\":\"ES256\",\"kid\":\"%s\"}".formatted(keyID).getBytes()) + "."
                + encoder.encodeToString(
                        "{\"iss\":\"%s\",\"iat\":%d}".formatted(team, Instant.now().getEpochSecond()).getBytes());
        Signature signature = Signature.getInstance("SHA256withECDSAinP1363Format");
        signature.initSign(KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der)));
        signature.update(text.getBytes(StandardCharsets.US_ASCII));
        return text + "." + encoder.encodeToString(signature.sign());
    }

    static SSLContext trust(String pem) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        store.setCertificateEntry("carillon", CertificateFactory.getInstance("X.509")
                .generateCertificate(new ByteArrayInputStream(pem.getBytes())));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }
}
