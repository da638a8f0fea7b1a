package carillon.testing;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.CertificateFactory;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A push notification service with a team for one test. It sees the requests of the test's own backend, and no others. */
public final class APNs implements AutoCloseable {
    private static final int PAGE = 1000;
    /** How many requests a failed test shows: a person reads no more. */
    private static final int SHOWN = 20;
    // These faults happen before the sender is known, so a rule cannot select a team.
    static final Set<String> WITHOUT_TEAM = Set.of("refuse", "certificate", "tls", "handshake");

    private final Carillon carillon;
    final Management management;
    private final String teamID;
    private final String keyID;
    private final String privateKeyPEM;
    private final String bundleID;
    private final Map<String, Object> scope;
    /** The number of the newest entry of the journal from before the test. */
    final long since;
    private final List<Rehearsal> rehearsals = new ArrayList<>();
    private final Map<String, Path> files = new HashMap<>();
    private final List<Subscription> subscriptions = new CopyOnWriteArrayList<>();
    /** Whether there are devices without a subscription. */
    private volatile boolean hasDevices;

    APNs(Carillon carillon, String teamID, String bundleID, String keyID, String privateKeyPEM) {
        this.carillon = carillon;
        management = carillon.management;
        if (isEmpty(bundleID)) {
            byte[] random = new byte[6];
            new SecureRandom().nextBytes(random);
            bundleID = "com.example.test-" + HexFormat.of().formatHex(random);
        }
        this.bundleID = bundleID;
        Map<String, Object> key = new LinkedHashMap<>();
        if (!isEmpty(keyID)) key.put("keyID", keyID);
        if (!isEmpty(privateKeyPEM)) key.put("privateKey", privateKeyPEM);
        Map<String, Object> team = new LinkedHashMap<>(Map.of("name", "Test", "apps", List.of(bundleID), "keys", List.of(key)));
        if (!isEmpty(teamID)) team.put("teamID", teamID);
        Map<?, ?> made = management.ask("POST", "/v1/fixtures", Map.of("teams", List.of(team))).object();
        boolean hasJournal = made.get("service") instanceof Map<?, ?> service && service.get("journal") instanceof Map<?, ?>;
        since = hasJournal ? (Long) ((Map<?, ?>) ((Map<?, ?>) made.get("service")).get("journal")).get("newest") : 0;
        Map<?, ?> madeTeam = (Map<?, ?>) ((List<?>) made.get("teams")).get(0);
        Map<?, ?> madeKey = (Map<?, ?>) ((List<?>) madeTeam.get("keys")).get(0);
        this.teamID = (String) madeTeam.get("teamID");
        this.keyID = (String) madeKey.get("keyID");
        this.privateKeyPEM = (String) madeKey.get("privateKey");
        // A backend with data of its own has a team of its own.
        scope = carillon.acceptsAny ? Map.of() : Map.of("team", this.teamID);
    }

    private static boolean isEmpty(String text) { return text == null || text.isEmpty(); }

    /** The URL of the HTTP/2 API. */
    public String url() { return carillon.url(); }

    /** The host that the backend connects to. */
    public String host() { return carillon.host; }

    /** The port that the backend connects to. */
    public int port() { return carillon.port; }

    /** The authority that the backend has to trust, in PEM. */
    public String caPEM() { return carillon.caPEM; }

    public String teamID() { return teamID; }

    public String keyID() { return keyID; }

    /** The key that signs provider tokens, in PEM, as in a {@code .p8} file. */
    public String privateKeyPEM() { return privateKeyPEM; }

    /** The app, which is also its topic. */
    public String bundleID() { return bundleID; }

    /** The key that signs provider tokens. */
    public ECPrivateKey privateKey() {
        try {
            byte[] der = Base64.getMimeDecoder().decode(privateKeyPEM.replaceAll("-----[A-Z ]+-----", ""));
            return (ECPrivateKey) KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A context that trusts the service, for {@code java.net.http}. */
    public SSLContext sslContext() {
        try {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            store.setCertificateEntry("carillon", CertificateFactory.getInstance("X.509")
                    .generateCertificate(new ByteArrayInputStream(caPEM().getBytes(StandardCharsets.US_ASCII))));
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A file with the authority in PEM, which is removed at the end of the test. Pushy takes it as trusted server certificate. */
    public Path caFile() { return file("ca.pem", caPEM()); }

    /** A file with the private key, which is removed at the end of the test. */
    public Path keyFile() { return file("AuthKey_" + keyID + ".p8", privateKeyPEM); }

    private Path file(String name, String text) {
        return files.computeIfAbsent(name, unused -> {
            try {
                return Files.writeString(Files.createTempDirectory("carillon-").resolve(name), text);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** Makes a virtual device with the app. It is online. */
    public Device device() { return device("online"); }

    /** Makes a device that behaves as one that is online, slow, offline, silent, removed or expired. */
    public Device device(String behaviour) { return device(Map.of("kind", behaviour), null); }

    /** Makes a device that is online, with this token in hexadecimal digits. */
    public Device deviceWithToken(String token) { return device(Map.of("kind", "online"), token); }

    /**
     * Makes a device.
     *
     * @param behaviour such as {@code Map.of("kind", "slow", "delay", "PT2S")}
     * @param token the device token in hexadecimal digits; null if the service makes one
     */
    public Device device(Map<String, ?> behaviour, String token) {
        Device device = read(make(behaviour, token == null ? Map.of() : Map.of("tokens", Map.of(bundleID, token))), token);
        hasDevices = true;
        return device;
    }

    private Map<?, ?> make(Map<String, ?> behaviour, Map<String, ?> more) {
        Map<String, Object> device = new LinkedHashMap<>(Map.of("team", teamID, "name", "phone", "behaviour", behaviour));
        device.putAll(more);
        return management.ask("POST", "/v1/devices", device).object();
    }

    private Device read(Map<?, ?> made, String token) {
        String own = token;
        for (Object app : (List<?>) made.get("apps")) {
            if (own == null && bundleID.equals(((Map<?, ?>) app).get("bundleID"))) own = (String) ((Map<?, ?>) app).get("token");
        }
        return new Device(management, (String) made.get("deviceID"), own);
    }

    /** Makes a virtual device that is online, and a subscription of its app to Web Push. */
    public Subscription webPush() { return webPush("online"); }

    /** Makes a device that behaves as one that is online, slow, offline, silent, removed or expired, with a subscription. */
    public Subscription webPush(String behaviour) { return webPush(Map.of("kind", behaviour), Map.of()); }

    /**
     * Makes a device, and a subscription of its app to Web Push.
     *
     * @param behaviour such as {@code Map.of("kind", "slow", "delay", "PT2S")}
     * @param subscription its {@code name}; {@code vapid}, the only public key that may sign; {@code plain}, whether messages
     *     without encryption are accepted. All may be missing.
     */
    public Subscription webPush(Map<String, ?> behaviour, Map<String, ?> subscription) {
        Map<String, Object> wanted = new LinkedHashMap<>(subscription);
        wanted.putIfAbsent("name", HexFormat.of().toHexDigits(new SecureRandom().nextInt()));
        Map<?, ?> made = make(behaviour, Map.of("subscriptions", List.of(wanted)));
        Subscription subscribed = new Subscription(read(made, null), (Map<?, ?>) ((List<?>) made.get("subscriptions")).get(0));
        subscriptions.add(subscribed);
        return subscribed;
    }

    /** Where the backend has to send if this match is about Web Push; otherwise null. */
    String endpoint(Map<String, ?> match) {
        boolean isWebPush = match.containsKey("subscription") || match.containsKey("text") || "webpush".equals(match.get("protocol"));
        List<Subscription> all = List.copyOf(subscriptions);
        if (all.isEmpty() || !isWebPush && hasDevices) return null;
        return all.stream().filter(each -> each.name().equals(match.get("subscription"))).findFirst()
                .orElse(all.get(all.size() - 1)).endpoint();
    }

    private Map<String, Object> own(Map<String, ?> match) {
        Map<String, Object> own = new LinkedHashMap<>(scope);
        own.putAll(match);
        return own;
    }

    private String query() { return scope.isEmpty() ? "" : "?team=" + teamID; }

    /** All requests of the backend, oldest first. */
    public List<Request> requests() { return requests(Map.of()); }

    /** The requests of the backend that match, oldest first: {@code Map.of("status", 200)}. docs/testing.md has the keys. */
    public List<Request> requests(Map<String, ?> match) {
        Map<String, Object> query = own(match);
        query.put("limit", PAGE);
        List<Request> requests = new ArrayList<>();
        while (true) {
            String parameters = query.entrySet().stream().map(entry -> {
                String value = entry.getValue() instanceof String text ? text : Json.write(entry.getValue());
                return entry.getKey() + "=" + URLEncoder.encode(value, StandardCharsets.UTF_8);
            }).collect(Collectors.joining("&"));
            List<?> page = (List<?>) management.ask("GET", "/v1/requests?" + parameters, null).value();
            page.forEach(request -> requests.add(new Request(request)));
            if (page.size() < PAGE) {
                if (requests.isEmpty()) checkJournal();
                return requests;
            }
            query.put("after", requests.get(requests.size() - 1).number());
        }
    }

    /** Waits for one request that matches, at most 5 seconds. */
    public Request await(Map<String, ?> match) { return await(1, match, Duration.ofSeconds(5)).get(0); }

    /** If the journal is off, nobody knows what was sent. */
    private void checkJournal() {
        Object keep = management.ask("GET", "/v1/journal", null).object().get("keep");
        if (!Long.valueOf(0).equals(keep)) return;
        throw new CarillonException("The journal of the Carillon at " + management.url
                + " is off, so nobody knows what was sent: start it with --journal 10000.");
    }

    /**
     * The newest requests of the backend, each in one line of text: for the message of a failed test. If there is none, the
     * connections that failed.
     */
    public List<String> sent() {
        try {
            List<Request> sent = requests();
            if (sent.isEmpty()) {
                String query = "?outcome=failed&after=" + since + "&limit=" + SHOWN;
                sent = ((List<?>) management.ask("GET", "/v1/requests" + query, null).value()).stream().map(Request::new).toList();
            }
            List<String> lines = sent.stream().skip(Math.max(0, sent.size() - SHOWN)).map(Request::toString).toList();
            return lines.isEmpty() ? List.of("nothing") : lines;
        } catch (CarillonException e) {
            return List.of(e.getMessage());
        }
    }

    /** Environment variables with all that a backend in a process of its own has to know. */
    public Map<String, String> environment() {
        Map<String, String> variables = new LinkedHashMap<>();
        variables.put("APNS_URL", url());
        variables.put("APNS_HOST", host());
        variables.put("APNS_PORT", String.valueOf(port()));
        variables.put("APNS_CA_FILE", caFile().toString());
        variables.put("APNS_TEAM_ID", teamID);
        variables.put("APNS_KEY_ID", keyID);
        variables.put("APNS_KEY_FILE", keyFile().toString());
        variables.put("APNS_PRIVATE_KEY", privateKeyPEM);
        variables.put("APNS_TOPIC", bundleID);
        // OpenSSL and Go trust the authorities in this file in place of the system's.
        variables.put("SSL_CERT_FILE", caFile().toString());
        return variables;
    }

    /**
     * Waits until {@code count} requests match, and returns them. Requests from before count too. With 0 it waits for the whole
     * time, and no request may match.
     *
     * @param timeout the longest time, at most 10 minutes
     * @throws WaitTimeout if they do not come in time: it shows what came instead
     */
    public List<Request> await(int count, Map<String, ?> match, Duration timeout) {
        Map<String, Object> own = own(match);
        Map<String, Object> body = Map.of("match", own, "count", count, "timeout", timeout.toString());
        Management.Answer answer = management.wait(timeout, "/v1/requests/wait", body);
        if (answer.status() == 408) throw new WaitTimeout(own, count, timeout, answer.object(), this);
        return ((List<?>) answer.object().get("requests")).stream().map(Request::new).toList();
    }

    /** Makes something go wrong for every request of the backend, until the end of the test. */
    public Rehearsal rehearse(Map<String, ?> fault) { return rehearse(fault, Map.of()); }

    /**
     * Makes something go wrong for the backend, until the end of the test.
     *
     * @param fault such as {@code Map.of("answer", Map.of("reason", "ServiceUnavailable"))}: docs/testing.md has all
     * @param when for which of its requests: {@code Map.of("first", 1)}; empty means all
     */
    public Rehearsal rehearse(Map<String, ?> fault, Map<String, ?> when) { return rehearse(fault, when, Map.of()); }

    /**
     * Makes something go wrong for the backend, until the end of the test.
     *
     * @param match which requests the fault is about, beside the team
     */
    public Rehearsal rehearse(Map<String, ?> fault, Map<String, ?> when, Map<String, ?> match) {
        boolean hasTeam = fault.keySet().stream().noneMatch(WITHOUT_TEAM::contains);
        Map<String, Object> rule = new LinkedHashMap<>(Map.of("match", hasTeam ? own(match) : match, "fault", fault));
        if (!when.isEmpty()) rule.put("when", when);
        Map<?, ?> made = management.ask("POST", "/v1/rehearsals", Map.of("rules", List.of(rule))).object();
        Rehearsal rehearsal = new Rehearsal(management, (String) made.get("rehearsal"));
        rehearsals.add(rehearsal);
        return rehearsal;
    }

    /** The team's clock. */
    public Clock clock() { return new Clock(management, scope, query()); }

    /** What the backend did although Apple advises against it. A good one has no findings. */
    @SuppressWarnings("unchecked")
    public List<Finding> report() {
        List<?> findings = (List<?>) management.ask("GET", "/v1/reports" + query(), null).object().get("findings");
        return findings.stream().map(each -> (Map<String, Object>) each).map(each -> new Finding(
                (String) each.get("id"), (String) each.get("severity"), (String) each.get("section"), (String) each.get("text"),
                (String) each.get("advice"), (List<Long>) each.get("requests"))).toList();
    }

    /** Ends the team's rehearsals, and deletes it with its devices and requests. */
    @Override
    public void close() {
        rehearsals.forEach(Rehearsal::end);
        rehearsals.clear();
        for (Path file : files.values()) {
            try {
                Files.deleteIfExists(file);
                Files.deleteIfExists(file.getParent());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        files.clear();
        // A test may have deleted it.
        management.ask("DELETE", "/v1/teams/" + teamID, null, 404);
    }
}
