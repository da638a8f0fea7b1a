import AsyncHTTPClient
import Connections
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOSSL
import Notifications
import ProviderServer
import Synchronization

/// Sends requests to a provider server. It uses the administrator's key from the server's folder or from the
/// environment.
struct ProviderServerClient: Sendable {
    private let url: String
    private let key: String
    private let certificate: String?
    /// Whether the environment names the server.
    private let isNamed: Bool
    private let folder: String

    private static let urlName = "CARILLON_PROVIDER_URL"
    private static let keyName = "CARILLON_PROVIDER_KEY"
    private static let authorityName = "CARILLON_PROVIDER_CA"

    /// The largest answer, in bytes: a page of a list with the largest items.
    private static let maximumAnswerBytes = 64 << 20

    init(folder: String) throws {
        self.folder = folder
        let environment = ProcessInfo.processInfo.environment
        if let url = environment[Self.urlName], !url.isEmpty {
            let parts = URLComponents(string: url)
            guard ["http", "https"].contains(parts?.scheme), parts?.host?.isEmpty == false else {
                throw CommandError("\(Self.urlName) is \(url); it takes http://HOST:PORT or https://HOST:PORT.")
            }
            guard let key = environment[Self.keyName], !key.isEmpty else {
                throw CommandError("\(Self.urlName) needs \(Self.keyName).")
            }
            (self.url, self.key) = (url.hasSuffix("/") ? String(url.dropLast()) : url, key)
            certificate = environment[Self.authorityName].flatMap { $0.isEmpty ? nil : $0 }
            isNamed = true
            if let certificate { try Self.check(authority: certificate) }
            return
        }
        isNamed = false
        guard let description = Self.description(folder) else {
            throw CommandError(
                "No provider server runs on \(folder); start one with: carillon provider serve --data \(folder)")
        }
        url = description.url
        certificate = description.certificate
        key = String(decoding: try InputFile.read(description.keyFile, "key"), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Checks that a file with the root certificate can be used, because a request would not name it.
    private static func check(authority file: String) throws {
        let bytes = try InputFile.read(file, "root certificate")
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(bytes)), !certificates.isEmpty else {
            throw CommandError(
                "The root certificate \(file), which \(authorityName) names, is no certificate in PEM.")
        }
    }

    /// How long to wait for a server that is just starting, as in `carillon provider serve & carillon provider app list`.
    /// A server with a million installations starts in less than two seconds.
    private static let startPatience = Duration.seconds(3)

    /// - Returns: nil if no server runs on the folder.
    private static func description(_ folder: String) -> ProviderServer.Description? {
        let start = ContinuousClock.now
        while true {
            if let description = ProviderServer.Description.read(folder: folder) { return description }
            guard ContinuousClock.now < start.advanced(by: startPatience) else { return nil }
            Thread.sleep(forTimeInterval: 0.05)
        }
    }

    /// Sends a request, and returns the answer's JSON.
    func ask(
        _ method: HTTPMethod,
        _ path: String,
        _ body: [UInt8]? = nil,
        headers: [(String, String)] = [],
    ) async throws -> JSONValue {
        var request = HTTPClientRequest(url: url + path)
        request.method = method
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(body)
        }
        return try await exchange(request) { try await value(of: $0) }
    }

    /// Sends a file unchanged, in parts, and shows the progress.
    func upload(_ path: String, file: String, contentType: String) async throws -> JSONValue {
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        guard let handle = FileHandle(forReadingAtPath: file) else { throw CommandError("\(file) cannot be read.") }
        let bar = ProgressBar()
        let sent = Mutex(0)
        let parts = AsyncStream<ByteBuffer>(unfolding: {
            guard let part = try? handle.read(upToCount: 1 << 16), !part.isEmpty else { return nil }
            let done = sent.withLock { sent in
                sent += part.count
                return sent
            }
            bar.show(file, done, of: size)
            return ByteBuffer(bytes: part)
        })
        var request = HTTPClientRequest(url: url + path)
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "content-type", value: contentType)
        request.body = .stream(parts, length: .known(Int64(size)))
        defer { bar.end() }
        return try await exchange(request) { try await value(of: $0) }
    }

    /// Writes an answer to standard output as it arrives.
    func download(_ path: String, accept: String) async throws {
        var request = HTTPClientRequest(url: url + path)
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "accept", value: accept)
        try await exchange(request) { response in
            guard response.status == .ok else {
                _ = try await value(of: response)
                return
            }
            for try await part in response.body {
                try FileHandle.standardOutput.write(contentsOf: Data(part.readableBytesView))
            }
        }
    }

    private func exchange<Value>(
        _ request: HTTPClientRequest,
        _ read: (HTTPClientResponse) async throws -> Value,
    ) async throws -> Value {
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<Value, any Error>
        do {
            let response: HTTPClientResponse
            do {
                response = try await client.execute(request, deadline: .distantFuture)
            } catch {
                throw notAnswering(RequestFailure.cause(of: error))
            }
            result = .success(try await read(response))
        } catch let error where RequestFailure.isOfConnection(error) {
            let cause = RequestFailure.cause(of: error)
            result = .failure(CommandError("The provider server at \(url) broke its answer off: \(cause). Try again."))
        } catch {
            result = .failure(error)
        }
        try await client.shutdown()
        return try result.get()
    }

    /// No connection to the server: what failed, and what to do.
    private func notAnswering(_ cause: String) -> CommandError {
        let isCertificate =
            cause.contains(ConnectionFailure.untrusted) || cause.contains(ConnectionFailure.otherName)
        let advice =
            switch (isNamed, isCertificate) {
            case (true, true) where cause.contains(ConnectionFailure.otherName):
                "Use a name of its certificate in \(Self.urlName)."
            case (true, true): "Name its root certificate in \(Self.authorityName)."
            case (true, false): "Check \(Self.urlName)."
            case (false, true):
                "Name a host of its certificate in \(Self.urlName), with \(Self.keyName) and \(Self.authorityName)."
            case (false, false): "Start one with: carillon provider serve --data \(folder)"
            }
        return CommandError("No provider server answers at \(url): \(cause). \(advice)")
    }

    private func value(of response: HTTPClientResponse) async throws -> JSONValue {
        let bytes = Data(buffer: try await response.body.collect(upTo: Self.maximumAnswerBytes))
        // A proxy may answer with a page in HTML.
        let value = bytes.isEmpty ? JSONValue.object([:]) : try? JSONDecoder().decode(JSONValue.self, from: bytes)
        guard (200..<300).contains(response.status.code) else {
            throw CommandError(
                value?["detail"] ?? "The server refused: status \(response.status.code).", at: value?["pointer"])
        }
        guard let value else {
            throw CommandError(
                "What answers at \(url) is no provider server: its answer is not JSON. Check \(Self.urlName).")
        }
        return value
    }

    /// Calls `body` with each item of a list, from all of its pages.
    func list(_ path: String, _ body: (JSONValue) -> Void) async throws {
        var next = ""
        while true {
            let page = try await ask(.GET, path + next)
            guard case .object(let members) = page, case .array(let items)? = members["items"] else { return }
            for item in items { body(item) }
            guard let after = page["next"] else { return }
            next = (path.contains("?") ? "&" : "?") + "after=" + after
        }
    }

    private var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(10)
        if let certificate {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(certificate)
            configuration.tlsConfiguration = tls
        }
        return configuration
    }
}

extension JSONValue {
    /// The text of a member; nil if it is missing or not a text.
    subscript(_ key: String) -> String? {
        guard case .object(let members) = self, case .string(let text)? = members[key] else { return nil }
        return text
    }

    /// The members of an object; empty for any other value.
    var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }

    /// An object with only some of the members.
    func only(_ names: [String]) -> JSONValue { .object(members.filter { names.contains($0.key) }) }

    /// The number of a member; 0 if it is missing.
    func count(_ key: String) -> Int {
        if case .integer(let number)? = members[key] { Int(clamping: number) } else { 0 }
    }

    /// The number of a member, as text; 0 if it is missing.
    func number(_ key: String) -> String {
        guard case .object(let members) = self, case .integer(let number)? = members[key] else { return "0" }
        return String(number)
    }
}

/// Escapes all characters that have a meaning in a path or in a query.
func escaped(_ text: String) -> String {
    let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
    return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
}
