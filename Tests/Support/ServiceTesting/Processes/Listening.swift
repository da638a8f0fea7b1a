import CommonTesting
import Notifications
import Testing

extension CarillonProcess {
    /// Listens with curl for a device's notifications while `body` runs: `GET /1/notifications`, held open. The stream
    /// has begun when `body` is called.
    func listen<Result>(
        as identity: String,
        in environment: Environment = .development,
        _ body: (ChildProcess) async throws -> Result,
    ) async throws -> Result {
        let url = "https://\(try addresses(environment).courier)/1/notifications"
        let arguments = Curl.arguments(ca: ready.ca) + ["-N", "-v", "--cert", identity, url]
        return try await ChildProcess.with("curl", arguments) { child in
            await child.errors.wait(for: "\n< HTTP/2 200")
            return try await body(child)
        }
    }

    /// The notification that waits for an offline device: the first line that it gets.
    func firstNotification(for identity: String) async throws -> FoundationJSON {
        try await listen(as: identity) { try await $0.nextNotification() }
    }

    /// The first notifications that wait for an offline device.
    func notifications(_ count: Int, for identity: String) async throws -> [FoundationJSON] {
        try await listen(as: identity) { device in
            var lines: [FoundationJSON] = []
            for _ in 0..<count { lines.append(try await device.nextNotification()) }
            return lines
        }
    }

    /// A request of the device protocol, with curl.
    func device(
        _ method: String,
        _ path: String,
        as identity: String?,
        body: String? = nil,
        headers: [(name: String, value: String)] = [],
        in environment: Environment = .development,
    ) async throws -> Curl.Response {
        try await Curl.request(
            method,
            "https://\(try addresses(environment).courier)\(path)",
            ca: ready.ca,
            headers: headers,
            body: body.map { Array($0.utf8) },
            identity: identity,
        )
    }

    /// Acknowledges a notification that was read from a stream.
    func acknowledge(_ line: FoundationJSON, as identity: String) async throws -> Curl.Response {
        let sending = Int(try line["sending"].flatMap(\.number).orThrow("no sending: \(line)"))
        return try await device("POST", "/1/acknowledgements", as: identity, body: #"{"sendings":[\#(sending)]}"#)
    }
}

extension ChildProcess {
    /// The next line that is not a keep-alive, as JSON.
    func nextNotification() async throws -> FoundationJSON {
        while let line = await output.nextLine() {
            if !line.isEmpty { return try FoundationJSON(line) }
        }
        throw UnexpectedOutput(description: "the stream of notifications ended: \(errors.text)")
    }
}

extension ChildProcess {
    /// Expects the next notification to be the one with this alert.
    func expectNext(alert: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let line = try await nextNotification()
        #expect(line["payload"] == ["aps": ["alert": .string(alert)]], sourceLocation: sourceLocation)
    }
}
