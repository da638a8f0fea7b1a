import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A client of java.net.http. usage: java Client.java PORT CERTIFICATE */
public class Client {
    static HttpClient client;
    static String server;

    static CompletableFuture<HttpResponse<String>> post(String path, String id, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(server + path)).timeout(Duration.ofSeconds(30))
                .header("apns-id", id).POST(HttpRequest.BodyPublishers.ofString(body)).build();
        return client.sendAsync(request, HttpResponse.BodyHandlers.ofString());
    }

    public static void main(String[] arguments) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        try (FileInputStream file = new FileInputStream(arguments[1])) {
            trusted.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(context).build();
        server = "https://127.0.0.1:" + arguments[0];

        // The first request opens the connection that the others share.
        post("/echo", "first", "{}").join();
        ArrayList<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int number = 0; number < 100; number++) {
            answers.add(post("/echo", "" + number, "{\"" + number + "\"}"));
        }
        int good = 0;
        for (int number = 0; number < 100; number++) {
            HttpResponse<String> answer = answers.get(number).join();
            if (answer.version() == HttpClient.Version.HTTP_2 && answer.statusCode() == 200
                    && answer.headers().firstValue("apns-id").orElse("").equals("" + number)
                    && answer.body().equals("{\"" + number + "\"}")) {
                good++;
            }
        }
        int length = post("/echo", "long", "x".repeat(100_000)).join().body().length();
        int large = post("/large", "large", "").join().body().length();
        System.out.println(good + " " + length + " " + large);
    }
}
