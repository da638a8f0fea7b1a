package carillon.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import javax.net.ssl.HttpsURLConnection;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** What a developer sees if something is wrong. Each is one sentence that says what to do, and nothing hangs. */
@CarillonTest
@Isolated("A system property names the program.")
class FailureTest {
    @TempDir
    Path folder;

    @AfterEach
    void forgetProgram() { System.clearProperty("carillon"); }

    private static void fails(Executable body, String... parts) {
        String message = assertThrows(Throwable.class, body).getMessage();
        for (String part : parts) assertTrue(message.contains(part), message);
    }

    private static Carillon start(String... options) { return Carillon.start(new Carillon.Settings().options(options)); }

    /** Lets the system property carillon name a script that says that it is this version of Carillon. */
    private void use(String version, String script) throws IOException {
        use("#!/bin/sh\ncase $1 in --version) echo " + version + "; exit;; esac\n" + script + "\n");
    }

    /** Lets the system property carillon name a program with this content. */
    private void use(String content) throws IOException {
        Path program = Files.write(folder.resolve("carillon"), content.getBytes(StandardCharsets.ISO_8859_1));
        assertTrue(program.toFile().setExecutable(true));
        System.setProperty("carillon", program.toString());
    }

    @Test
    void aWaitShowsWhatCameInstead(APNs apns) throws Exception {
        new Backend(apns).send("00fc13adff785122", "{\"aps\":{\"alert\":\"Hello\"}}");
        Map<String, ?> match = Map.of("outcome", "delivered", "pushType", "voip", "payload", Map.of("aps", Map.of("alert", "Bye")));
        fails(() -> apns.await(1, match, Duration.ofMillis(100)), "0 requests matched", "within 0.1 s, instead of 1.",
                "400 BadDeviceToken, rejected", "pushType is \"alert\", not \"voip\"", "outcome is \"rejected\", not \"delivered\"",
                "payload is {\"aps\":{\"alert\":\"Hello\"}}, not {\"aps\":{\"alert\":\"Bye\"}}");
        fails(() -> apns.await(0, Map.of(), Duration.ZERO), "1 requests matched within 0.0 s, but none should");
    }

    @Test
    void theFaultsWithoutATeamAreThoseThatTheServiceDescribesAsAboutConnections(Carillon carillon) {
        Object value = carillon.management.ask("GET", "/openapi.json", null).object();
        for (String key : List.of("components", "schemas", "RehearsalFault", "properties")) value = ((Map<?, ?>) value).get(key);
        Set<String> described = ((Map<?, ?>) value).entrySet().stream()
                .filter(fault -> ((String) ((Map<?, ?>) fault.getValue()).get("description")).contains("about new connections"))
                .map(fault -> (String) fault.getKey()).collect(Collectors.toSet());
        assertEquals(described, APNs.WITHOUT_TEAM);
    }

    @Test
    void aWaitWithoutAnyRequestSaysWhereToSend(APNs apns) {
        fails(() -> apns.await(1, Map.of(), Duration.ZERO), "The backend has sent nothing: it has to connect to https://");
    }

    @Test
    void aWaitForAMessageOfWebPushSaysWhereToSend(APNs apns) {
        Subscription subscription = apns.webPush();
        Subscription newest = apns.webPush();
        Map<Map<String, String>, String> endpoints = Map.of(
                Map.of(), newest.endpoint(), Map.of("text", "Hello"), newest.endpoint(),
                Map.of("subscription", subscription.name()), subscription.endpoint());
        endpoints.forEach((match, endpoint) -> fails(
                () -> apns.await(1, match, Duration.ZERO), "has sent nothing: it has to send to " + endpoint + ", and trust"));
        // It may be about the phone.
        apns.device();
        fails(() -> apns.await(1, Map.of(), Duration.ZERO), "has sent nothing: it has to connect to " + apns.url());
    }

    /** Waits until connections of the test's service have failed. The team of the test sees no failed connection. */
    private static void connectionsFailed(Carillon carillon, int count) {
        Map<String, Object> body = Map.of("match", Map.of("outcome", "failed"), "count", count, "timeout", "PT60S");
        assertEquals(200, carillon.management.wait(Duration.ofMinutes(1), "/v1/requests/wait", body).status());
    }

    private static HttpRequest push(APNs apns) {
        return HttpRequest.newBuilder(URI.create(apns.url() + "/3/device/00"))
                .POST(HttpRequest.BodyPublishers.ofString("{}")).build();
    }

    @Test
    void aBackendThatDoesNotTrustTheAuthority() {
        try (Carillon carillon = start()) {
            APNs apns = carillon.team();
            HttpClient client = HttpClient.newHttpClient();
            assertThrows(IOException.class, () -> client.send(push(apns), HttpResponse.BodyHandlers.ofString()));
            connectionsFailed(carillon, 1);
            String message = assertThrows(WaitTimeout.class, () -> apns.await(1, Map.of(), Duration.ZERO)).getMessage();
            // Java's client may close the connection before its alert was sent.
            assertTrue(message.startsWith(
                    "The backend does not trust the service (a connection since this test began, perhaps another test's: "), message);
            assertTrue(message.contains(
                    "): let it trust the authority in apns.sslContext(), apns.caFile() or apns.caPEM(), and connect to "), message);
            assertTrue(message.endsWith("\n0 requests matched within 0.0 s, instead of 1."), message);
            String line = apns.sent().get(0);
            assertTrue(line.startsWith("#1, a connection of 127.0.0.1:"), line);
            assertTrue(line.contains(" failed: the client "), line);
            // It is not the connection of a test that begins later.
            fails(() -> carillon.team().await(1, Map.of(), Duration.ZERO), "The backend has sent nothing");
        }
    }

    @Test
    void aBackendThatDoesNotSpeakHTTP2() throws IOException {
        try (Carillon carillon = start()) {
            APNs apns = carillon.team();
            HttpClient client =
                    HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(apns.sslContext()).build();
            assertThrows(IOException.class, () -> client.send(push(apns), HttpResponse.BodyHandlers.ofString()));
            connectionsFailed(carillon, 1);
            fails(() -> apns.await(1, Map.of(), Duration.ZERO), "The backend does not speak HTTP/2 (a connection since this test began, perhaps another test's: it ");
            APNs other = carillon.team();
            HttpsURLConnection old = (HttpsURLConnection) push(other).uri().toURL().openConnection();
            old.setSSLSocketFactory(other.sslContext().getSocketFactory());
            old.setDoOutput(true);
            old.getOutputStream().write('.');
            try {
                old.getResponseCode();
            } catch (IOException e) {
                // It may take the service's bytes for an answer of HTTP/0.9.
            }
            connectionsFailed(carillon, 2);
            fails(() -> other.await(1, Map.of(), Duration.ZERO),
                    ": it sent a request of HTTP/1): APNs takes nothing else");
        }
    }

    @Test
    @CarillonTest(options = {"--journal", "0"})
    void aJournalThatIsOff(APNs apns) {
        String[] parts = {"is off, so nobody knows what was sent: start", "with --journal 10000"};
        fails(() -> apns.await(Map.of()), parts);
        fails(() -> apns.await(0, Map.of(), Duration.ZERO), parts);
        fails(apns::requests, parts);
        assertTrue(apns.sent().get(0).contains(parts[0]), apns.sent().toString());
    }

    @Test
    void aSilentServiceCostsLittleMoreThanTheWait() throws IOException {
        try (ServerSocket silent = new ServerSocket(0)) {
            Management.Limits limits = new Management.Limits(Duration.ofMinutes(10), Duration.ofMillis(50));
            Management management = new Management("http://127.0.0.1:" + silent.getLocalPort(), "", null, limits);
            fails(() -> management.wait(Duration.ofMillis(100), "/v1/requests/wait", Map.of()),
                    "does not answer (no answer within 0.15 s): check that it runs");
            // It was silent, so the next request does not wait for ten minutes.
            fails(() -> management.ask("GET", "/", null), "no answer within 0.05 s");
        }
    }

    @Test
    void aServiceThatClosesConnectionsIsNotAskedAgainAndAgain() throws Exception {
        AtomicInteger connections = new AtomicInteger();
        ServerSocket closing = new ServerSocket(0);
        Thread server = new Thread(() -> {
            try {
                while (true) {
                    closing.accept().close();
                    connections.incrementAndGet();
                }
            } catch (IOException e) {
                // The test is over.
            }
        });
        server.start();
        Management management = new Management("http://127.0.0.1:" + closing.getLocalPort(), "", null);
        fails(() -> management.ask("POST", "/", Map.of()), "closed the connection before its answer: check that CARILLON_MANAGEMENT_URL has the port of the management API; if its log names a limit");
        closing.close();
        server.join();
        // The second attempt is for a connection that was closed while it was idle.
        assertEquals(2, connections.get());
    }

    @Test
    void aRefusalSaysWhy(APNs apns) {
        fails(() -> apns.await(Map.of("colour", "red")), "(POST /v1/requests/wait, 400, at /match/colour)");
    }

    @Test
    void aMissingProgram() {
        System.setProperty("carillon", "/nowhere/carillon");
        fails(Carillon::start, "CARILLON names /nowhere/carillon, which is not a program");
    }

    @Test
    void aProgramForAnotherMachine() throws IOException {
        use("\177ELF\2\1\1" + "\0".repeat(200));
        fails(Carillon::start, "cannot be started on this machine", "Install the program for this machine");
    }

    @Test
    void aProgramThatEndsAtOnce() throws IOException {
        use("0.2.0", "echo 'Error: the disk is full' >&2; exit 3");
        fails(Carillon::start, "did not start: it ended (exit status 3). It said:\n  Error: the disk is full");
    }

    @Test
    void aProgramThatIsNeverReady() throws IOException {
        use("0.2.0", "exec cat");
        Carillon.Settings settings = new Carillon.Settings().startTimeout(Duration.ofMillis(200));
        fails(() -> Carillon.start(settings), "was not ready within 200 ms; if it is slow, give it a longer start timeout");
    }

    @Test
    void aProgramThatClosesItsOutput() throws IOException {
        use("0.2.0", "exec cat >/dev/null");
        fails(Carillon::start, "did not start: it ended (exit status 0)");
    }

    @Test
    void aProgramThatIsSomethingElse() throws IOException {
        use("#!/bin/sh\necho Hello\n");
        fails(Carillon::start, "is not Carillon's program, and printed \"Hello\": correct the variable CARILLON, or remove it");
    }

    @Test
    void aProgramThatSaysNothing() {
        System.setProperty("carillon", "/bin/false");
        fails(Carillon::start, "/bin/false is not Carillon's program, and ended (exit status 1): correct the variable CARILLON");
    }

    @Test
    void aSystemLacksWhatTheProgramNeeds() throws IOException {
        Map<String, String> texts = Map.of(
                "libc.so.6: version \\`GLIBC_2.34' not found", "glibc 2.34 or newer: take a newer system",
                "error while loading shared libraries: libpq.so.5: cannot open", "the library libpq.so.5: install it, or take");
        for (var each : texts.entrySet()) {
            use("#!/bin/sh\necho \"$0: " + each.getKey() + "\" >&2; exit 127\n");
            fails(Carillon::start, "carillon cannot be started, because this system lacks " + each.getValue());
        }
    }

    @Test
    void aProgramThatPrintsForEverOrLeavesAChild() throws IOException {
        for (String content : List.of("exec yes", "tr '\\0' x </dev/zero", "sleep 100 & sleep 100", "sleep 100 & exit 1")) {
            use("#!/bin/sh\n" + content + "\n");
            Carillon.Settings settings = new Carillon.Settings().startTimeout(Duration.ofMillis(200));
            fails(() -> Carillon.start(settings), "is not Carillon's program, and ");
        }
    }

    @Test
    void somethingElseInPlaceOfTheManagementAPI() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        String url = "http://127.0.0.1:" + server.getAddress().getPort();
        AtomicReference<String> body = new AtomicReference<>();
        AtomicInteger status = new AtomicInteger(200);
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            byte[] bytes = body.get().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status.get(), bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        try {
            for (int each : List.of(200, 404)) {
                status.set(each);
                for (String text : List.of("{}", "[]", "", "null", "{\"service\":{}}", "{\"error\":\"no\"}", "<html>")) {
                    body.set(text);
                    fails(() -> Carillon.attach(url, "key"), url + " is not Carillon's management API (POST /v1/fixtures got " + each
                            + "): check CARILLON_MANAGEMENT_URL.");
                }
            }
            status.set(200);
            body.set("{\"service\":{\"caPEM\":\"PEM\"}}");
            fails(() -> Carillon.attach(url, "key"), "is older than this library: start Carillon 0.2.0 or newer there.");
        } finally {
            server.stop(0);
        }
    }

    @Test
    void aKeyWithSomethingAroundIt(Carillon carillon) {
        Carillon.attach(carillon.management.url + "\n", carillon.management.key + "\r\n").close();
        for (String key : List.of("my key", "Schlüssel→")) {
            String message = assertThrows(
                    CarillonException.class, () -> Carillon.attach(carillon.management.url, key)).getMessage();
            assertTrue(message.startsWith("CARILLON_MANAGEMENT_KEY has a character that no key has"), message);
            assertTrue(!message.contains(key), message);
        }
        fails(() -> Carillon.attach("http://" + carillon.host + ":" + carillon.port, carillon.management.key),
                "check that CARILLON_MANAGEMENT_URL has the port of the management API; if its log");
        fails(() -> Carillon.attach("http://localhost:99999", ""), "set it to a URL such as http://localhost:2198");
    }

    @Test
    void anOlderCarillon() throws IOException {
        use("0.1.9", "echo 'Error: Unknown option' >&2; exit 64");
        fails(Carillon::start, "is Carillon 0.1.9, and this library needs 0.2.0 or newer: correct the variable CARILLON");
    }

    @Test
    void aPortInUse(Carillon carillon) {
        fails(() -> start("--management", carillon.management.place.getAuthority()), "did not start: it ended (exit status 1). It said:\n");
    }

    @Test
    void aServiceThatEndsDuringATest() {
        try (Carillon carillon = start()) {
            APNs apns = carillon.team();
            carillon.program().kill();
            fails(() -> apns.await(1, Map.of(), Duration.ofMinutes(10)), "has ended (signal 9): run the tests again");
        }
    }

    @Test
    void aServiceThatIsNotThere(Carillon carillon) {
        fails(() -> Carillon.attach("http://127.0.0.1:1", ""), "The Carillon at http://127.0.0.1:1 does not answer");
        fails(() -> Carillon.attach(carillon.management.url, "wrong"),
                "refuses the key: set CARILLON_MANAGEMENT_KEY to its key");
        fails(() -> Carillon.attach(carillon.management.url, ""),
                "needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set: set CARILLON_MANAGEMENT_KEY to its key");
        fails(() -> Carillon.attach("localhost", ""), "set it to a URL such as http://localhost:2198");
    }

    @Test
    void aServiceThatRuns(Carillon carillon) {
        Map<String, String> variables = Map.of("CARILLON_PROVIDER_ADDRESS", "localhost:49153");
        try (Carillon attached = Carillon.attach(
                carillon.management.url, carillon.management.key, new Carillon.Settings(), variables)) {
            assertEquals("https://localhost:49153", attached.url());
            assertEquals(carillon.caPEM, attached.caPEM);
            Map<String, String> numbers = Map.of("CARILLON_PROVIDER_ADDRESS", "127.0.0.1:49153");
            try (Carillon other = Carillon.attach(
                    carillon.management.url.replace("127.0.0.1", "localhost"), carillon.management.key, new Carillon.Settings(),
                    numbers)) {
                assertEquals("https://127.0.0.1:49153", other.url());
            }
            try (APNs apns = attached.team()) {
                assertEquals(List.of(), apns.requests());
            }
        }
        // It was not started here, so it does not end here.
        carillon.team().close();
    }

    /** Starts a service, and is killed by the next test. */
    public static void main(String[] arguments) throws IOException {
        System.out.println(Carillon.start().program().pid());
        System.in.read();
    }

    @Test
    void theServiceEndsWithAProcessThatIsKilled() throws Exception {
        Process killed = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", System.getProperty("java.class.path"),
                FailureTest.class.getName()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        long pid = Long.parseLong(killed.inputReader().readLine());
        killed.destroyForcibly().waitFor();
        var service = ProcessHandle.of(pid);
        if (service.isPresent()) service.get().onExit().get(1, TimeUnit.MINUTES);
    }
}
