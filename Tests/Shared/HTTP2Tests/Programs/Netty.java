import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.*;
import io.netty.handler.codec.http2.*;
import io.netty.handler.ssl.*;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/**
 * A client of netty, and a server, which prints its port.
 * usage: java -cp JARS Netty.java client PORT CERTIFICATE, or: java -cp JARS Netty.java server CERTIFICATE KEY
 */
public class Netty {
    /** A request that a server gets, or an answer that a client gets. */
    static class Message extends SimpleChannelInboundHandler<Http2StreamFrame> {
        final CompletableFuture<Message> ended = new CompletableFuture<>();
        final ByteArrayOutputStream body = new ByteArrayOutputStream();
        Http2Headers headers;

        String header(String name) { return "" + headers.get(name); }

        @Override protected void channelRead0(ChannelHandlerContext context, Http2StreamFrame frame) {
            boolean isLast = false;
            if (frame instanceof Http2HeadersFrame head) {
                headers = head.headers();
                isLast = head.isEndStream();
            } else if (frame instanceof Http2DataFrame data) {
                body.writeBytes(ByteBufUtil.getBytes(data.content()));
                isLast = data.isEndStream();
            }
            if (isLast) ended.complete(this);
        }

        @Override public void channelInactive(ChannelHandlerContext context) {
            ended.completeExceptionally(new Exception("the stream was reset"));
        }

        @Override public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            ended.completeExceptionally(cause);
        }
    }

    /** HTTP/2 over TLS. Debian's netty has no ALPN of its own. */
    static ChannelInitializer<Channel> connections(
            SslContextBuilder tls, Http2FrameCodecBuilder codec, Function<Channel, ChannelHandler> streams)
            throws Exception {
        JdkSslContext context = (JdkSslContext) tls.sslProvider(SslProvider.JDK).build();
        return new ChannelInitializer<Channel>() {
            @Override protected void initChannel(Channel channel) {
                SSLEngine engine = context.context().createSSLEngine();
                engine.setUseClientMode(context.isClient());
                SSLParameters parameters = engine.getSSLParameters();
                parameters.setApplicationProtocols(new String[] {"h2"});
                engine.setSSLParameters(parameters);
                channel.pipeline().addLast(new SslHandler(engine), codec.build(),
                        new Http2MultiplexHandler(new ChannelInitializer<Channel>() {
                            @Override protected void initChannel(Channel stream) {
                                stream.pipeline().addLast(streams.apply(stream));
                            }
                        }));
            }
        };
    }

    static void send(Channel stream, Http2Headers headers, byte[] body) {
        stream.write(new DefaultHttp2HeadersFrame(headers));
        stream.writeAndFlush(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(body), true));
    }

    static ChannelHandler answer(Channel stream) {
        Message request = new Message();
        request.ended.thenAccept(whole -> send(stream,
                new DefaultHttp2Headers().status("200").add("apns-id", whole.header("apns-id")),
                whole.header(":path").equals("/large") ? "x".repeat(1_000_000).getBytes() : whole.body.toByteArray()));
        return request;
    }

    static CompletableFuture<Message> post(Channel connection, String path, String id, String body) throws Exception {
        Message answer = new Message();
        Channel stream = new Http2StreamChannelBootstrap(connection).handler(answer).open().sync().getNow();
        send(stream, new DefaultHttp2Headers().method("POST").scheme("https").path(path).authority("localhost")
                .add("apns-id", id), body.getBytes());
        return answer.ended;
    }

    static void runClient(int port, File certificate) throws Exception {
        Channel connection = new Bootstrap().group(new NioEventLoopGroup(1)).channel(NioSocketChannel.class)
                .handler(connections(SslContextBuilder.forClient().trustManager(certificate),
                        Http2FrameCodecBuilder.forClient().encoderEnforceMaxConcurrentStreams(true),
                        stream -> new ChannelInboundHandlerAdapter()))
                .connect("127.0.0.1", port).sync().channel();
        ArrayList<CompletableFuture<Message>> answers = new ArrayList<>();
        for (int number = 0; number < 100; number++) {
            answers.add(post(connection, "/echo", "" + number, "{\"" + number + "\"}"));
        }
        int good = 0;
        for (int number = 0; number < 100; number++) {
            Message answer = answers.get(number).get();
            if (answer.header(":status").equals("200") && answer.header("apns-id").equals("" + number)
                    && answer.body.toString().equals("{\"" + number + "\"}")) {
                good++;
            }
        }
        int length = post(connection, "/echo", "long", "x".repeat(100_000)).get().body.size();
        int large = post(connection, "/large", "large", "").get().body.size();
        System.out.println(good + " " + length + " " + large);
        connection.close().sync();
        System.exit(0);
    }

    static void runServer(File certificate, File key) throws Exception {
        Channel server = new ServerBootstrap().group(new NioEventLoopGroup(1)).channel(NioServerSocketChannel.class)
                .childHandler(connections(SslContextBuilder.forServer(certificate, key),
                        Http2FrameCodecBuilder.forServer(), Netty::answer))
                .bind("127.0.0.1", 0).sync().channel();
        System.out.println(((InetSocketAddress) server.localAddress()).getPort());
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("client")) {
            runClient(Integer.parseInt(arguments[1]), new File(arguments[2]));
        } else {
            runServer(new File(arguments[1]), new File(arguments[2]));
        }
    }
}
