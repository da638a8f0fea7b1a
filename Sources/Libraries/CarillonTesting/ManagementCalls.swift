import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1

/// Sends requests to the management API of a service in this process.
struct ManagementCalls: Sendable {
    let url: String
    let key: String

    /// The longest answer that is read, in bytes. A journal of 10,000 requests with payloads of 4 KB takes 50 MB.
    private static let maximumAnswerBytes = 64 << 20

    /// Sends a request and returns the answer.
    /// - Throws: ``TestAPNsError/Code/refused`` with the service's explanation, or ``TestAPNsError/Code/timedOut``.
    func ask<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ message: (some Encodable & Sendable)? = Never?.none,
    ) async throws(TestAPNsError) -> Answer {
        let (status, body) = try await exchange(method, path, message)
        switch status {
        case .ok, .created, .accepted: break
        case .noContent: return try decode(Data("{}".utf8))
        case .requestTimeout: throw TestAPNsError(.timedOut, String(decoding: body, as: UTF8.self))
        default: throw TestAPNsError(.refused, String(decoding: body, as: UTF8.self))
        }
        return try decode(body.isEmpty ? Data("{}".utf8) : body)
    }

    private func decode<Answer: Decodable>(_ body: Data) throws(TestAPNsError) -> Answer {
        do {
            return try JSONDecoder().decode(Answer.self, from: body)
        } catch {
            throw TestAPNsError(.refused, "The service's answer cannot be read: \(error)")
        }
    }

    private func exchange(
        _ method: String,
        _ path: String,
        _ message: (some Encodable & Sendable)?,
    ) async throws(TestAPNsError) -> (HTTPResponseStatus, Data) {
        do {
            var request = HTTPClientRequest(url: url + path)
            request.method = .RAW(value: method)
            request.headers.add(name: "Authorization", value: "Bearer \(key)")
            if let message {
                request.headers.add(name: "Content-Type", value: "application/json")
                request.body = .bytes(try JSONEncoder().encode(message))
            }
            let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
            return (response.status, Data(buffer: try await response.body.collect(upTo: Self.maximumAnswerBytes)))
        } catch {
            throw TestAPNsError(.refused, "The service does not answer: \(error)")
        }
    }
}
