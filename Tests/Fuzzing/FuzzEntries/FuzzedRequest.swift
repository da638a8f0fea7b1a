import Foundation
@testable import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Notifications

/// A request of an HTTP API that has passed the checks of its operation.
struct FuzzedRequest {
    /// The path of the operation.
    let path: String
    let query: [String: String]
    let body: [UInt8]
    /// The body; nil if the operation takes none.
    private(set) var document: JSONValue?

    /// - Parameter bytes: the method and the path with the query on the first line, and then the body.
    init?<Server>(_ bytes: [UInt8], of operations: [APIOperation<Server>]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let words = lines[0].split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard words.count == 2 else { return nil }
        let method = String(decoding: words[0], as: UTF8.self)
        let target = words[1].split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard let operation = operations.first(where: { $0.method.rawValue == method && $0.matches(target[0]) }),
            let query = try? CallInput.query(target.count > 1 ? target[1] : "")
        else { return nil }
        let parameters = Self.parameters(of: target[0], operation.path)
        guard (try? CallInput.check(operation.parameters, path: parameters, query: query)) != nil else { return nil }
        (path, self.query) = (operation.path, query)
        body = lines.count > 1 ? Array(lines[1]) : []
        if let expected = operation.body, expected.schema != nil {
            guard body.count <= expected.maximumBytes, let document = try? CallInput.document(body, expected) else {
                return nil
            }
            self.document = document
        }
        let isList = operation.parameters.contains { $0.name == "limit" && $0.place == .query }
        if isList, words[1].allSatisfy({ (0x21...0x7e).contains($0) }) {
            Self.checkPages(
                HTTPRequest(
                    method: operation.method, scheme: "http", authority: "localhost",
                    path: String(decoding: words[1], as: UTF8.self)), query)
        }
    }

    /// The values of the parameters of a path, which matches the pattern.
    private static func parameters(of path: String, _ pattern: String) -> [String: String] {
        var parameters: [String: String] = [:]
        for (part, name) in zip(path.split(separator: "/"), pattern.split(separator: "/")) where name.hasPrefix("{") {
            parameters[String(name.dropFirst().dropLast())] = part.removingPercentEncoding
        }
        return parameters
    }

    /// A page of a list has to be a part of the list, in its order.
    private static func checkPages(_ head: HTTPRequest, _ query: [String: String]) {
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
        let call = Call(request, CallInput(query: query), caller: true)
        let names = ["0", "a", "b", "\u{e9}", "z"].sorted()
        for page in [ListPage(sorting: names.reversed(), call), ListPage(inOrder: names, call)] {
            precondition(page.names.count <= call.limit && Array(page.names) == page.names.sorted())
        }
        // The next page is of the same list.
        precondition(call.link(after: "\u{e9}").contains("after=%C3%A9"))
    }
}
