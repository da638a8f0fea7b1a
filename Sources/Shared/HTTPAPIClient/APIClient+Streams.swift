import AsyncHTTPClient
package import NIOCore
package import NIOHTTP1
package import Notifications

// Answers and bodies that are not read as a whole.
extension APIClient {
    /// All items of a list, from all of its pages.
    /// - Parameters:
    ///   - pageItems: the number of items on a page that is not the last one.
    ///   - name: returns the identifier of an item, which the next page begins after.
    ///   - headers: called with the header fields of each page.
    package func list<Item: Decodable>(
        _ path: String,
        pageItems: Int,
        name: (Item) -> String,
        headers: (HTTPHeaders) -> Void = { _ in },
    ) async throws -> [Item] {
        var items: [Item] = []
        while true {
            let after = items.last.map { (path.contains("?") ? "&" : "?") + "after=" + name($0).percentEncoded } ?? ""
            let page: [Item] = try await exchange(.GET, path + after, Never?.none) { response in
                headers(response.headers)
                return try await read(response)
            }
            items += page
            guard page.count == pageItems else { return items }
        }
    }

    /// Calls `body` with each item of a list whose pages name the next one.
    package func list(_ path: String, _ body: (JSONValue) -> Void) async throws {
        var next = ""
        while true {
            let page: JSONValue = try await ask(.GET, path + next)
            guard case .object(let members) = page, case .array(let items)? = members["items"] else { return }
            for item in items { body(item) }
            guard case .string(let after)? = members["next"] else { return }
            next = (path.contains("?") ? "&" : "?") + "after=" + after
        }
    }

    /// Calls `body` with each line of an answer as it arrives.
    package func lines(_ path: String, _ body: (Substring) -> Void) async throws {
        try await exchange(.GET, path, Never?.none) { response in
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
                throw APIFailure.interrupted(error)
            }
        }
    }

    /// Calls `body` with each part of an answer as it arrives.
    package func download(_ path: String, accept: String, _ body: (ByteBuffer) throws -> Void) async throws {
        try await exchange(.GET, path, Never?.none, headers: ["Accept": accept]) { response in
            for try await part in response.body { try body(part) }
        }
    }

    /// Sends a body in parts, and reads the JSON of the answer.
    /// - Parameter bytes: the length of the body.
    package func upload<Answer: Decodable, Parts: AsyncSequence & Sendable>(
        _ path: String,
        _ parts: Parts,
        bytes: Int64,
        contentType: String,
    ) async throws -> Answer where Parts.Element == ByteBuffer {
        var request = request(.POST, path, ["Content-Type": contentType])
        request.body = .stream(parts, length: .known(bytes))
        return try await exchange(request) { try await read($0) }
    }
}
