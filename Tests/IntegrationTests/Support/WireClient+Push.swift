import HTTP2
import Notifications
@testable import ServiceTesting

// For what curl cannot show: several requests at a time, and requests that do not end.
extension WireClient {
    /// Sends a request and waits for its answer.
    /// - Parameters:
    ///   - ends: whether the body ends. If not, the answer comes before its end.
    ///   - usesHost: names the server in `host` instead of `:authority`, as some clients do.
    /// - Throws: ``WireClient/Unanswered``, or the session's error if the request was not sent.
    func send(_ push: Push, ends: Bool = true, usesHost: Bool = false) async throws -> Answer {
        var fields = [(":method", push.method), (":scheme", "https")]
        if !usesHost { fields.append((":authority", "localhost")) }
        fields.append((":path", push.path))
        if usesHost { fields.append(("host", "localhost")) }
        fields += push.headers.map { ($0.name, $0.value) }
        let request = try await open(fields, endStream: false)
        let body = String(decoding: push.body ?? [], as: UTF8.self)
        try await request.write(body)
        let answer = ends ? try await request.finish() : try await request.answer()
        guard answer.status != 0 else {
            throw Unanswered(stream: request.stream.rawValue, code: answer.error ?? .noError)
        }
        return answer
    }
}

extension CarillonProcess {
    /// A provider's connection in the development environment.
    func connect() async throws -> WireClient {
        try await WireClient.connect(port: try port(of: addresses(.development).provider), authorityFile: ready.ca)
    }

    func port(of address: String) throws -> Int {
        try address.split(separator: ":").last.flatMap { Int($0) }.orThrow("no port: \(address)")
    }
}
