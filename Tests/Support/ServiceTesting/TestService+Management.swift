import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Service
import Testing

// The management API over TCP.
extension TestService {
    /// An answer of the management API.
    struct ManagementAnswer {
        let status: Int
        let headers: HTTPHeaders
        let body: Data

        var text: String { String(decoding: body, as: UTF8.self) }
        /// The `detail` of a problem; nil if the answer is not a problem.
        var problem: [String: Any]? { try? JSONSerialization.jsonObject(with: body) as? [String: Any] }
    }

    var managementURL: String { get throws { try required(description.management).url } }

    var managementKey: String {
        get throws {
            try String(contentsOfFile: required(description.management).keyFile, encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// Sends a request to the management API over TCP, with the key unless another one or none is given.
    func request(
        _ method: String,
        _ path: String,
        key: String? = nil,
        headers: [(String, String)] = [],
        body: String? = nil,
    ) throws -> HTTPClientRequest {
        var request = HTTPClientRequest(url: try managementURL + path)
        request.method = .RAW(value: method)
        let key = try key ?? managementKey
        if !key.isEmpty { request.headers.add(name: "authorization", value: "Bearer \(key)") }
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        if let body {
            if !request.headers.contains(name: "content-type") {
                request.headers.add(name: "content-type", value: "application/json")
            }
            request.body = .bytes(ByteBuffer(string: body))
        }
        return request
    }

    func ask(
        _ method: String,
        _ path: String,
        key: String? = nil,
        headers: [(String, String)] = [],
        body: String? = nil,
    ) async throws -> ManagementAnswer {
        let request = try request(method, path, key: key, headers: headers, body: body)
        let response = try await HTTPClient.shared.execute(request, deadline: .distantFuture)
        let bytes = try await response.body.collect(upTo: 1 << 24)
        return ManagementAnswer(
            status: Int(response.status.code), headers: response.headers, body: Data(buffer: bytes))
    }

    /// The requests in the journal.
    func requests(_ query: String = "") async throws -> [[String: Any]] {
        let answer = try await ask("GET", "/v1/requests\(query)")
        #expect(answer.status == 200, "\(answer.text)")
        return try required(JSONSerialization.jsonObject(with: answer.body) as? [[String: Any]])
    }

    /// Reads the lines of an answer that does not end by itself, until `isLast` returns true.
    @discardableResult
    func follow(
        _ path: String,
        headers: [(String, String)] = [],
        until isLast: (String) -> Bool,
    ) async throws -> [String] {
        let response = try await HTTPClient.shared.execute(
            try request("GET", path, headers: headers), deadline: .distantFuture)
        var text = ""
        for try await chunk in response.body {
            text += String(buffer: chunk)
            if isLast(text) { break }
        }
        return text.split(separator: "\n").map(String.init)
    }
}
