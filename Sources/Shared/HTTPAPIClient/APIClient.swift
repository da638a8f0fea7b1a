import AsyncHTTPClient
import Foundation
import NIOCore
package import NIOHTTP1
package import NIOSSL
package import Notifications

/// Sends requests to an HTTP API: the management API, or the one of the provider server.
package struct APIClient: Sendable {
    package enum Address: Sendable {
        /// A Unix socket.
        case socket(path: String)
        /// `http://host:port` or `https://host:port`, perhaps with a path.
        case url(String)
    }

    /// An HTTP proxy through which the API is reached.
    package struct Proxy: Sendable {
        let host: String
        let port: Int
        let authorization: String?

        /// - Parameter authorization: the value of `proxy-authorization`; nil if the proxy asks for none.
        package init(host: String, port: Int, authorization: String?) {
            (self.host, self.port, self.authorization) = (host, port, authorization)
        }
    }

    private let address: Address
    /// The key that each request has; nil for none.
    private let key: String?
    private let configuration: HTTPClient.Configuration
    /// Whether requests share connections, as those of a library do. A command sends few, and ends.
    private let sharesConnections: Bool
    /// The longest time of a request with its answer; nil for none.
    package var timeLimit: Duration?
    /// Says in the words of the caller why a request failed.
    private let describe: @Sendable (APIFailure) -> any Error

    /// The longest answer that is read as a whole, in bytes. A journal of 10,000 requests with payloads of 4 KB takes
    /// 50 MB.
    private static let maximumAnswerBytes = 64 << 20

    /// - Parameter describe: makes the error that the functions throw if a request fails.
    package init(
        _ address: Address,
        key: String? = nil,
        tls: TLSConfiguration? = nil,
        proxy: Proxy? = nil,
        sharesConnections: Bool = false,
        describe: @escaping @Sendable (APIFailure) -> any Error,
    ) {
        (self.address, self.key, self.describe) = (address, key, describe)
        self.sharesConnections = sharesConnections
        var configuration = Self.configuration
        configuration.tlsConfiguration = tls
        configuration.proxy = proxy.map { proxy in
            let basic = proxy.authorization.map { String($0.dropFirst("Basic ".count)) }
            return .server(
                host: proxy.host, port: proxy.port, authorization: basic.map { .basic(credentials: $0) })
        }
        self.configuration = configuration
    }

    private static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        // If the server does not answer now, fail at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(10)
        return configuration
    }

    /// The client whose connections are shared. It lives as long as the process. The library's own shared client would try
    /// for a minute and a half to reach a server that has ended.
    private static let shared = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)

    /// Whether requests go to a Unix socket, and so to a server on this machine.
    package var isLocal: Bool {
        if case .socket = address { true } else { false }
    }

    /// Sends a request, perhaps with a message as JSON, and reads the JSON of the answer. An empty answer reads as an
    /// empty object.
    package func ask<Answer: Decodable>(
        _ method: HTTPMethod,
        _ path: String,
        _ message: (some Encodable)? = Never?.none,
        headers: HTTPHeaders = [:],
    ) async throws -> Answer {
        try await exchange(method, path, message, headers: headers) { try await read($0) }
    }

    /// Sends a request, perhaps with a document, and reads the JSON of the answer.
    package func ask(
        _ method: HTTPMethod,
        _ path: String,
        _ document: JSONValue? = nil,
        headers: HTTPHeaders = [:],
    ) async throws -> JSONValue {
        try await exchange(method, path, document, headers: headers) { try await read($0) }
    }

    /// Returns the bytes of an answer that has succeeded, or has a status that the caller expects.
    package func answer(
        _ method: HTTPMethod,
        _ path: String,
        _ message: (some Encodable)? = Never?.none,
        beside statuses: Set<UInt> = [],
    ) async throws -> (status: UInt, body: [UInt8]) {
        try await exchange(method, path, message, beside: statuses) { response in
            (response.status.code, try await bytes(of: response))
        }
    }

    // MARK: One exchange

    /// Sends a request, and calls `body` with its answer if that has succeeded or has an expected status.
    func exchange<Result>(
        _ method: HTTPMethod,
        _ path: String,
        _ message: (some Encodable)?,
        headers: HTTPHeaders = [:],
        beside statuses: Set<UInt> = [],
        _ body: (HTTPClientResponse) async throws -> Result,
    ) async throws -> Result {
        var request = request(method, path, headers)
        if let message {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(Array(try JSONValue(encoding: message).text.utf8))
        }
        return try await exchange(request, beside: statuses, body)
    }

    func exchange<Result>(
        _ request: HTTPClientRequest,
        beside statuses: Set<UInt> = [],
        _ body: (HTTPClientResponse) async throws -> Result,
    ) async throws -> Result {
        let client =
            sharesConnections
            ? Self.shared : HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body(try await response(client, request, beside: statuses)))
        } catch let error as APIFailure {
            result = .failure(describe(error))
        } catch  where RequestFailure.isOfConnection(error) {
            result = .failure(describe(.interrupted(error)))
        } catch {
            result = .failure(error)
        }
        if !sharesConnections { try await client.shutdown() }
        return try result.get()
    }

    private func response(
        _ client: HTTPClient,
        _ request: HTTPClientRequest,
        beside statuses: Set<UInt>,
    ) async throws -> HTTPClientResponse {
        let response: HTTPClientResponse
        do {
            // The library would end the process.
            guard Self.hasPossiblePort(request.url) else { throw HTTPClientError.invalidURL }
            response = try await client.execute(
                request, deadline: timeLimit.map { .now() + TimeAmount($0) } ?? .distantFuture)
        } catch {
            throw APIFailure.notReached(error)
        }
        let status = response.status.code
        guard (200..<300).contains(status) || statuses.contains(status) else {
            throw APIFailure.refused(status: status, body: try await bytes(of: response))
        }
        return response
    }

    private static func hasPossiblePort(_ url: String) -> Bool {
        URLComponents(string: url)?.port.map { (1...65_535).contains($0) } ?? true
    }

    func request(_ method: HTTPMethod, _ path: String, _ headers: HTTPHeaders = [:]) -> HTTPClientRequest {
        let base =
            switch address {
            case .socket(let path): "http+unix://\(path.percentEncoded)"
            case .url(let url): url
            }
        var request = HTTPClientRequest(url: base + path)
        request.method = method
        request.headers = headers
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        return request
    }

    // MARK: Reading answers

    private func bytes(of response: HTTPClientResponse) async throws -> [UInt8] {
        Array(try await response.body.collect(upTo: Self.maximumAnswerBytes).readableBytesView)
    }

    func read<Answer: Decodable>(_ response: HTTPClientResponse) async throws -> Answer {
        let bytes = try await bytes(of: response)
        do {
            return try JSONValue.decode(bytes.isEmpty ? Array("{}".utf8) : bytes)
        } catch {
            throw APIFailure.notUnderstood(error)
        }
    }
}
