import HTTP2

extension WireClient {
    /// Sends a request and waits for its answer.
    /// - Parameters:
    ///   - ends: whether the body ends. If not, the answer comes before its end.
    ///   - usesHost: names the server in `host` instead of `:authority`, as some clients do.
    /// - Throws: ``WireClient/Unanswered``, or the session's error if the request was not sent.
    func send(_ push: WirePush, ends: Bool = true, usesHost: Bool = false) async throws -> Answer {
        var fields = [(":method", push.method), (":scheme", "https")]
        if !usesHost { fields.append((":authority", "localhost")) }
        fields.append((":path", push.path))
        if usesHost { fields.append(("host", "localhost")) }
        fields += push.headers.map { ($0.name, $0.value) }
        let request = try await open(fields, endStream: push.body == nil)
        if let body = push.body { try await request.write(body) }
        let answer = ends && push.body != nil ? try await request.finish() : try await request.answer()
        guard answer.status != 0 else {
            throw Unanswered(stream: request.stream.rawValue, code: answer.error ?? .noError)
        }
        return answer
    }
}
