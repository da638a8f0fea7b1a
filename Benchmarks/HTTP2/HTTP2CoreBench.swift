import CMalloc
import CNghttp2
import Glibc
import HTTP2Core

/// Compares `HTTP2Core` with libnghttp2: the same recorded requests of a provider through a server's session of both,
/// in alternating rounds. `HTTP2CoreBench [REQUESTS] [ROUNDS]` prints the CPU time of each request and the memory of
/// each idle session, as medians.
///
/// Neither has a socket, TLS or an application: both read each field and each part of a body, add up their bytes, and
/// answer with `:status` and `apns-id`. Both sums have to be the same.
@main
enum HTTP2CoreBench {
    static func main() {
        let requests = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000
        let rounds = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 7
        let record = Recording.make(requests: requests)
        print(
            "\(requests) requests in \(record.count) reads, \(record.reduce(0) { $0 + $1.count }) bytes, \(rounds) rounds"
        )
        var core: [Double] = []
        var library: [Double] = []
        var sums: Set<Int> = []
        for _ in 0..<rounds {
            core.append(cpu { sums.insert(CoreServer().run(record)) })
            library.append(cpu { sums.insert(LibraryServer().run(record)) })
        }
        guard sums.count == 1 else { fatalError("The two sides read different bytes: \(sums)") }
        report("CPU per request, microseconds", core, library, scale: 1e6 / Double(requests))
        let first = Array(record.prefix(2))
        var coreBytes: [Double] = []
        var libraryBytes: [Double] = []
        for _ in 0..<3 {
            coreBytes.append(memory { CoreServer.idle(after: first) })
            libraryBytes.append(memory { LibraryServer.idle(after: first) })
        }
        report("memory per idle session, bytes", coreBytes, libraryBytes, scale: 1)
    }

    private static func report(_ what: String, _ core: [Double], _ library: [Double], scale: Double) {
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] * scale }
        func text(_ value: Double) -> String { String(Double(Int(value * 1_000)) / 1_000) }
        print(
            "\(what): core \(text(median(core))), libnghttp2 \(text(median(library))), "
                + "ratio \(text(median(core) / median(library)))")
        print("  core \(core.map { text($0 * scale) }), libnghttp2 \(library.map { text($0 * scale) })")
    }

    private static func cpu(_ body: () -> Void) -> Double {
        let start = cpuTime()
        body()
        return cpuTime() - start
    }

    private static func cpuTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static let idleSessions = 2_000

    /// The bytes that each of many objects holds.
    private static func memory(_ make: () -> AnyObject) -> Double {
        var all: [AnyObject] = []
        all.reserveCapacity(idleSessions)
        let before = mallinfo2().uordblks
        for _ in 0..<idleSessions { all.append(make()) }
        let after = mallinfo2().uordblks
        return withExtendedLifetime(all) { Double(after - before) / Double(idleSessions) }
    }
}

/// The fields of an answer are the same on both sides.
enum Answer {
    static let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
}

/// What a provider sends, made by the core's client.
enum Recording {
    /// The requests of one read: a provider sends many at once.
    private static let requestsPerRead = 20

    static func make(requests: Int) -> [[UInt8]] {
        var client = HTTP2Endpoint(role: .client)
        var server = HTTP2Endpoint(role: .server)
        var record: [[UInt8]] = []
        let token = String(repeating: "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQ0RFRkdISUoifQ", count: 5)
        let body = Array(
            #"{"aps":{"alert":{"title":"Hello","body":"A message for you, with some words"},"badge":1}}"#.utf8)
        var made = 0
        while made < requests {
            // The first read is the preface, and the second one acknowledges the server's SETTINGS.
            if record.count > 1 {
                for _ in 0..<min(requestsPerRead, requests - made) {
                    var list = FieldList()
                    list.append(":method", "POST")
                    list.append(":scheme", "https")
                    list.append(":path", "/3/device/" + hex(made), .withoutIndexing)
                    list.append(":authority", "api.push.example.com")
                    list.append("authorization", "bearer " + token)
                    list.append("apns-topic", "com.example.app")
                    list.append("apns-push-type", "alert")
                    list.append("apns-id", "eabeae54-14a8-11e5-b60b-" + hex(made).prefix(12), .withoutIndexing)
                    list.append("apns-expiration", String(1_700_000_000 + made), .withoutIndexing)
                    list.append("apns-priority", "10")
                    guard let stream = try? client.open(list, endStream: false) else { fatalError("no stream") }
                    _ = client.sendData(body.span, endStream: true, on: stream)
                    made += 1
                }
            }
            record.append(client.output)
            client.outputTaken()
            answer(&server, record[record.count - 1])
            var position = 0
            while client.next(server.output.span, at: &position, now: 0) != nil {}
            server.outputTaken()
        }
        return record
    }

    private static func answer(_ server: inout HTTP2Endpoint, _ bytes: [UInt8]) {
        var position = 0
        while let event = server.next(bytes.span, at: &position, now: 0) {
            guard case .data(let stream, _, endStream: true) = event else { continue }
            var list = FieldList()
            list.append(":status", "200")
            _ = server.sendFields(list, endStream: true, on: stream)
        }
    }

    /// 64 digits that differ for each number.
    private static func hex(_ number: Int) -> String {
        var text = ""
        for part in 1...4 {
            let digits = String(UInt64(truncatingIfNeeded: number &* part) &* 0x9e37_79b9_7f4a_7c15, radix: 16)
            text += String(repeating: "0", count: 16 - digits.count) + digits
        }
        return text
    }
}

/// A server with the core.
final class CoreServer {
    private var endpoint = HTTP2Endpoint(role: .server)
    private var answer = FieldList()
    private var sum = 0
    private var sent: [UInt8] = []

    func run(_ record: [[UInt8]]) -> Int {
        for bytes in record { read(bytes) }
        return sum
    }

    private func read(_ bytes: [UInt8]) {
        var position = 0
        while let event = endpoint.next(bytes.span, at: &position, now: 0) {
            switch event {
            case .request:
                endpoint.fields.forEach { name, value, _ in sum &+= name.count &+ value.count }
            case .data(let stream, let range, let endStream):
                sum &+= range.count
                if endStream { respond(stream) }
            case .failed(let fault):
                fatalError("\(fault)")
            default:
                break
            }
        }
        sent.removeAll(keepingCapacity: true)
        sent.append(contentsOf: endpoint.output)
        endpoint.outputTaken()
    }

    private func respond(_ stream: StreamID) {
        answer.removeAll()
        answer.append(":status", "200")
        answer.append("apns-id", Answer.id, .neverIndexed)
        _ = endpoint.sendFields(answer, endStream: true, on: stream)
    }

    static func idle(after record: [[UInt8]]) -> AnyObject {
        let server = CoreServer()
        for bytes in record { server.read(bytes) }
        server.sent = []
        server.answer = FieldList()
        server.endpoint.releaseIdleMemory()
        return server
    }
}

/// A server with libnghttp2, with the options and the callbacks of the session that the service uses.
final class LibraryServer {
    private var session: OpaquePointer?
    fileprivate var sum = 0
    private var sent: [UInt8] = []
    private static nonisolated(unsafe) let callbacks = makeCallbacks()

    init() {
        var option: OpaquePointer?
        nghttp2_option_new(&option)
        nghttp2_option_set_no_auto_window_update(option, 1)
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_session_server_new2(&session, Self.callbacks, Unmanaged.passUnretained(self).toOpaque(), option)
        nghttp2_option_del(option)
        var entries = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: 1_000),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 8_000),
        ]
        nghttp2_submit_settings(session, 0, &entries, entries.count)
        nghttp2_session_set_local_window_size(session, 0, 0, 1_048_576)
    }

    deinit { nghttp2_session_del(session) }

    func run(_ record: [[UInt8]]) -> Int {
        for bytes in record { read(bytes) }
        return sum
    }

    private func read(_ bytes: [UInt8]) {
        let result = bytes.withUnsafeBufferPointer { nghttp2_session_mem_recv(session, $0.baseAddress, $0.count) }
        guard result == bytes.count else { fatalError("libnghttp2: \(result)") }
        sent.removeAll(keepingCapacity: true)
        while true {
            var frame: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &frame)
            guard count > 0, let frame else { return }
            sent.append(contentsOf: UnsafeBufferPointer(start: frame, count: Int(count)))
        }
    }

    fileprivate func respond(_ stream: Int32) {
        (":status" as StaticString).withField("200", flags: 0) { status in
            ("apns-id" as StaticString).withField(Answer.id, flags: NGHTTP2_NV_FLAG_NO_INDEX.rawValue) { id in
                withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: 2) { fields in
                    fields.initializeElement(at: 0, to: status)
                    fields.initializeElement(at: 1, to: id)
                    nghttp2_submit_response(session, stream, fields.baseAddress, 2, nil)
                }
            }
        }
    }

    static func idle(after record: [[UInt8]]) -> AnyObject {
        let server = LibraryServer()
        for bytes in record { server.read(bytes) }
        server.sent = []
        return server
    }

    private static func makeCallbacks() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, _, _, nameCount, _, count, _, user in
            withServer(user) { $0.sum &+= nameCount &+ count }
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { session, _, stream, _, count, user in
            nghttp2_session_consume(session, stream, count)
            return withServer(user) { $0.sum &+= count }
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let head = frame?.pointee.hd, head.type == 0, head.flags & 1 != 0 else { return 0 }
            return withServer(user) { $0.respond(head.stream_id) }
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, _ in 0 }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, _, _, _ in 0 }
        return callbacks
    }
}

/// Calls `body` with the server of the user data, without counting a reference.
private func withServer(_ user: UnsafeMutableRawPointer?, _ body: (LibraryServer) -> Void) -> Int32 {
    guard let user else { return 0 }
    Unmanaged<LibraryServer>.fromOpaque(user)._withUnsafeGuaranteedRef(body)
    return 0
}

extension StaticString {
    fileprivate func withField(_ value: String, flags: UInt32, _ body: (nghttp2_nv) -> Void) {
        var value = value
        value.withUTF8 { value in
            body(
                nghttp2_nv(
                    name: UnsafeMutablePointer(mutating: utf8Start),
                    value: UnsafeMutablePointer(mutating: value.baseAddress), namelen: utf8CodeUnitCount,
                    valuelen: value.count, flags: UInt8(truncatingIfNeeded: flags)))
        }
    }
}
