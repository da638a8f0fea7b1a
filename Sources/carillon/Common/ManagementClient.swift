import AsyncHTTPClient
import Foundation
import Management
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOSSL
import Service

/// Sends requests to the management API, through the Unix socket in the data folder or to the address that the
/// environment names.
struct ManagementClient: Sendable {
    /// Where the API is, and the credentials for it.
    private enum Place {
        case socket(path: String)
        case url(String, key: String?)
        case tls(String, TLSConfiguration)
    }

    private let place: Place
    /// The error message if no answer comes.
    private let silence: String

    /// - Parameter folder: the service's data folder. If the environment names an address, that is used in its place.
    init(_ folder: DataFolder) throws {
        if let remote = try Self.remote() {
            (place, silence) = remote
        } else {
            place = .socket(path: try ServiceDescription.read(folder).socket)
            silence = "No service answers on \(folder.path); start one with: carillon serve --data \(folder.path)"
        }
    }

    enum Method: String {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
        case patch = "PATCH"
        case put = "PUT"
    }

    /// The API cannot be reached.
    struct NotReached: Error, CustomStringConvertible {
        let description: String
    }

    /// Sends a request with JSON, and reads the JSON of the answer.
    func ask<Answer: Decodable>(
        _ method: Method,
        _ path: String,
        _ message: (some Encodable)? = Never?.none,
    ) async throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: try await bytes(method, path, message))
    }

    /// Sends a request, and returns the bytes of the answer.
    func bytes(
        _ method: Method,
        _ path: String,
        _ message: (some Encodable)? = Never?.none,
    ) async throws -> Data {
        try await exchange(method, path, message) { response in
            Data(buffer: try await response.body.collect(upTo: Self.maximumAnswerBytes))
        }
    }

    /// Returns the bytes of an answer with status 200, or with a status that the caller expects.
    func answer(
        _ method: Method,
        _ path: String,
        _ message: some Encodable,
        beside statuses: Set<UInt>,
    ) async throws -> (status: UInt, body: Data) {
        try await exchange(method, path, message, beside: statuses) { response in
            (response.status.code, Data(buffer: try await response.body.collect(upTo: Self.maximumAnswerBytes)))
        }
    }

    /// All items of a list, from all of its pages.
    /// - Parameters:
    ///   - name: returns the identifier of an item.
    ///   - unanswered: called with the nodes of a cluster whose part of the list is missing.
    func list<Item: Decodable>(
        _ path: String,
        name: (Item) -> String,
        unanswered: (Set<String>) -> Void = { _ in },
    ) async throws -> [Item] {
        var (items, silent): ([Item], Set<String>) = ([], [])
        while true {
            let after = items.last.map { "?after=" + name($0) } ?? ""
            let page: [Item] = try await exchange(.get, path + after, Never?.none) { response in
                let names = response.headers[canonicalForm: OtherDevices.unansweredField]
                silent.formUnion(names.map { String($0) })
                let body = Data(buffer: try await response.body.collect(upTo: Self.maximumAnswerBytes))
                return try JSONDecoder().decode([Item].self, from: body)
            }
            items += page
            guard page.count == ManagementLimits.listItems else { break }
        }
        if !silent.isEmpty { unanswered(silent) }
        return items
    }

    /// Calls `body` with each line of an answer as it arrives.
    func lines(_ path: String, _ body: (Substring) -> Void) async throws {
        try await exchange(.get, path, Never?.none) { response in
            var bytes: [UInt8] = []
            do {
                for try await chunk in response.body {
                    bytes += chunk.readableBytesView
                    // Pass on only whole lines, because a chunk may end inside a character.
                    guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else { continue }
                    let lines = String(decoding: bytes[...end], as: UTF8.self)
                    bytes.removeSubrange(...end)
                    for line in lines.split(separator: "\n") { body(line) }
                }
            } catch {
                throw CommandError("The service ended in the middle of its answer.")
            }
        }
    }

    /// Whether requests go to the service with the data folder, and not to an address from the environment.
    var isLocal: Bool {
        if case .socket = place { true } else { false }
    }

    /// The longest answer, in bytes. A page of a list and the metrics are shorter.
    private static let maximumAnswerBytes = 64 << 20

    private func exchange<Result>(
        _ method: Method,
        _ path: String,
        _ message: (some Encodable)?,
        beside statuses: Set<UInt> = [],
        _ read: (HTTPClientResponse) async throws -> Result,
    ) async throws -> Result {
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Swift.Result<Result, any Error>
        do {
            var request = request(method, path)
            if let message {
                request.headers.add(name: "Content-Type", value: "application/json")
                request.body = .bytes(try JSONEncoder().encode(message))
            }
            result = .success(try await read(try await answer(client, request, beside: statuses)))
        } catch {
            result = .failure(error)
        }
        try await client.shutdown()
        return try result.get()
    }

    private func answer(
        _ client: HTTPClient,
        _ request: HTTPClientRequest,
        beside statuses: Set<UInt>,
    ) async throws -> HTTPClientResponse {
        let response: HTTPClientResponse
        do {
            response = try await client.execute(request, deadline: .distantFuture)
        } catch {
            if case .tls(let url, _) = place, "\(error)".contains("ALERT_CERTIFICATE") {
                throw CommandError(
                    "The management API at \(url) refuses the certificate of \(Self.identityName): it has expired, was "
                        + "revoked, or is of another service.")
            }
            throw NotReached(description: "\(silence) (\(RequestFailure.cause(of: error)))")
        }
        guard response.status == .ok || statuses.contains(response.status.code) else {
            let body = Data(buffer: try await response.body.collect(upTo: Self.maximumAnswerBytes))
            let problem = try? JSONDecoder().decode(Problem.self, from: body)
            throw CommandError(
                problem?.detail ?? "The service refused: status \(response.status.code).", at: problem?.pointer)
        }
        return response
    }

    private func request(_ method: Method, _ path: String) -> HTTPClientRequest {
        var request: HTTPClientRequest
        switch place {
        case .socket(let socket):
            let host = socket.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            request = HTTPClientRequest(url: "http+unix://\(host)\(path)")
        case .url(let url, let key):
            request = HTTPClientRequest(url: url + path)
            if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        case .tls(let url, _):
            request = HTTPClientRequest(url: url + path)
        }
        request.method = .init(rawValue: method.rawValue)
        return request
    }

    private var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        // If the service does not answer now, fail at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(10)
        if case .tls(_, let tls) = place { configuration.tlsConfiguration = tls }
        return configuration
    }
}

// MARK: - Other machines

extension ManagementClient {
    private static let urlName = "CARILLON_MANAGEMENT_URL"
    private static let keyName = "CARILLON_MANAGEMENT_KEY"
    private static let identityName = "CARILLON_ADMINISTRATOR"
    private static let authorityName = "CARILLON_CA"
    /// The name of ``urlName`` in earlier versions.
    private static let formerName = "CARILLON_ADMINISTRATION_URL"

    /// - Returns: nil if the environment names no address.
    private static func remote() throws -> (Place, silence: String)? {
        let environment = ProcessInfo.processInfo.environment
        guard environment[formerName] == nil else {
            throw CommandError("\(formerName) was replaced by \(urlName).")
        }
        guard var url = environment[urlName], !url.isEmpty else { return nil }
        if url.hasSuffix("/"), !url.hasSuffix("//") { url.removeLast() }
        let silence = "No management API answers at \(url)."
        if url.hasPrefix("http://") { return (.url(url, key: environment[keyName]), silence) }
        guard url.hasPrefix("https://") else {
            throw CommandError("\(urlName) is \(url); it takes http://HOST:PORT or https://HOST:PORT.")
        }
        guard let identity = environment[identityName], let authority = environment[authorityName] else {
            throw CommandError("\(urlName) with https needs \(identityName) and \(authorityName).")
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.trustRoots = .file(authority)
        do {
            tls.certificateChain = try NIOSSLCertificate.fromPEMFile(identity).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: identity, format: .pem))
            // Check here that the files can be used.
            _ = try NIOSSLContext(configuration: tls)
        } catch {
            throw CommandError(
                "\(identity) and \(authority) are not usable certificates in PEM: "
                    + "\(DataFolder.reason(error)).")
        }
        return (.tls(url, tls), silence)
    }
}
