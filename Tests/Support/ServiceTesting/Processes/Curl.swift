import CommonTesting
import Foundation

/// `curl` as a provider and as a device: a client that other people wrote.
enum Curl {
    struct Response: Sendable {
        let status: Int
        let httpVersion: String
        let headers: [(name: String, value: String)]
        let body: Data

        /// The value of a header that occurs once.
        subscript(_ name: String) -> String? {
            let values = headers.filter { $0.name == name }.map(\.value)
            return values.count == 1 ? values[0] : nil
        }

        var json: FoundationJSON {
            get throws { try FoundationJSON(body) }
        }
    }

    /// In seconds. No answer takes this long.
    private static let patience = "60"

    /// The first arguments of every call: ignore the user's settings, HTTP/2 over TLS, the service's authority.
    static func arguments(ca: String) -> [String] {
        ["-q", "-sS", "--noproxy", "*", "--http2", "--max-time", patience, "--cacert", ca]
    }

    /// One request.
    /// - Parameters:
    ///   - identity: a file with a client's key and certificate chain.
    ///   - body: nil for none.
    static func request(
        _ method: String,
        _ url: String,
        ca: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        identity: String? = nil,
    ) async throws -> Response {
        try await withTemporaryFolder { folder in
            var arguments = arguments(ca: ca) + ["-X", method, "--path-as-is", "-g"]
            if let identity { arguments += ["--cert", identity] }
            // An empty value is written with a semicolon (curl(1), --header).
            for (name, value) in headers { arguments += ["-H", value.isEmpty ? "\(name);" : "\(name): \(value)"] }
            if let body {
                try Data(body).write(to: URL(fileURLWithPath: folder + "/request"))
                arguments += ["--data-binary", "@\(folder)/request"]
            }
            arguments += [
                "-D", folder + "/headers", "-o", folder + "/response", "-w", "%{http_code} %{http_version}", url,
            ]
            let finished = try await ChildProcess.run("curl", arguments)
            let result = finished.output.split(separator: " ")
            guard finished.status == 0, result.count == 2, let status = Int(result[0]) else {
                throw UnexpectedOutput(description: "curl \(finished.status): \(finished.errors)")
            }
            let head = try String(contentsOfFile: folder + "/headers", encoding: .utf8)
            // The file is missing if the body is empty.
            let answer = FileManager.default.contents(atPath: folder + "/response") ?? Data()
            return Response(
                status: status, httpVersion: String(result[1]), headers: Self.headers(head), body: answer)
        }
    }

    private static func headers(_ text: String) -> [(name: String, value: String)] {
        text.split(whereSeparator: \.isNewline).dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return (String(line[..<colon]), value)
        }
    }
}
