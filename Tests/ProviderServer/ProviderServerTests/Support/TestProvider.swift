import CommonTesting
import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Notifications
import ServiceLifecycle
import Synchronization
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// A provider server in this process.
struct TestProvider: Sendable {
    let url: String
    let folder: String
    let administratorKey: String
    /// Sends the requests.
    var client = HTTPClient.shared

    /// Runs a server while `body` runs, and ends it cleanly.
    /// - Parameter folder: nil for a new one, which is removed afterwards.
    static func run(
        folder: String? = nil,
        logger: Logger = silentLogger,
        _ change: (inout ProviderServer.Settings) -> Void = { _ in },
        _ body: (TestProvider) async throws -> Void,
    ) async throws {
        guard let folder else {
            return try await withFolder { try await run(folder: $0, logger: logger, change, body) }
        }
        var settings = ProviderServer.Settings(folder: folder)
        // The receivers of tests are on this machine.
        settings.allowsLocalHooks = true
        change(&settings)
        let (ready, announce) = AsyncStream<ProviderServer.Description>.makeStream()
        let server = try await ProviderServer(settings, logger: logger) { announce.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        let running = Task {
            defer { announce.finish() }
            try await group.run()
        }
        var iterator = ready.makeAsyncIterator()
        guard let description = await iterator.next() else { return try await running.value }
        let key = try String(contentsOfFile: description.keyFile, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        try await withCleanUp {
            try await body(TestProvider(url: description.url, folder: folder, administratorKey: key))
        } cleanUp: {
            await group.triggerGracefulShutdown()
            try await running.value
        }
    }

    static let silentLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cp-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    struct Answer: Sendable {
        let status: Int
        let version: HTTPVersion
        let headers: HTTPHeaders
        let body: JSONValue

        subscript(_ keys: String...) -> JSONValue? {
            var value: JSONValue? = body
            for key in keys {
                switch value {
                case .object(let members): value = members[key]
                case .array(let items): value = Int(key).flatMap { items.indices.contains($0) ? items[$0] : nil }
                default: return nil
                }
            }
            return value
        }

        /// Where the fault is, and nil if the answer is no problem.
        var pointer: String? { if case .string(let text)? = self["pointer"] { text } else { nil } }
        func text(_ keys: String...) throws -> String {
            var value: JSONValue? = body
            for key in keys { if case .object(let members)? = value { value = members[key] } }
            guard case .string(let text)? = value else {
                throw Missing(key: keys.joined(separator: "/"), body: body.text)
            }
            return text
        }

        struct Missing: Error {
            let key: String
            let body: String
        }
    }

    /// Sends a request with the administrator's key, or another one.
    func ask(
        _ method: HTTPMethod,
        _ path: String,
        _ body: String? = nil,
        key: String? = nil,
        headers: [(String, String)] = [],
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url + path)
        request.method = method
        let key = key ?? administratorKey
        if !key.isEmpty { request.headers.add(name: "authorization", value: "Bearer \(key)") }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await client.execute(request, deadline: .distantFuture)
        let bytes = Data(buffer: try await response.body.collect(upTo: 1 << 24))
        let value = bytes.isEmpty ? JSONValue.null : try JSONValue(answer: Array(bytes))
        return Answer(
            status: Int(response.status.code), version: response.version, headers: response.headers, body: value)
    }

    /// Imports a file of CSV.
    func importInstallations(_ file: [UInt8], key: String) async throws -> Answer {
        var request = HTTPClientRequest(url: url + "/v1/installations/import")
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "content-type", value: "text/csv")
        request.body = .bytes(ByteBuffer(bytes: file))
        let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
        let bytes = Data(buffer: try await response.body.collect(upTo: 1 << 24))
        return Answer(
            status: Int(response.status.code), version: response.version, headers: response.headers,
            body: try JSONDecoder().decode(JSONValue.self, from: bytes))
    }

    /// The text of an answer that is not JSON.
    func text(_ path: String, key: String, accept: String) async throws -> String {
        var request = HTTPClientRequest(url: url + path)
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "accept", value: accept)
        let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
        #expect(response.headers.first(name: "content-type")?.hasPrefix(accept) == true)
        return String(buffer: try await response.body.collect(upTo: 1 << 24))
    }

    /// Asks for a message until it is in one of these states.
    func message(_ id: String, until isDone: (Answer) -> Bool) async throws -> Answer {
        try await firstValue {
            let answer = try await ask(.GET, "/v1/messages/\(id)")
            return answer.status != 200 || isDone(answer) ? answer : nil
        }
    }

    func finished(_ id: String) async throws -> Answer {
        try await message(id) { $0["state"] == "finished" || $0["state"] == "paused" || $0["state"] == "cancelled" }
    }
}
