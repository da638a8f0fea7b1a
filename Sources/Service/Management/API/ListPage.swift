import Foundation
import HTTPTypes
import Hummingbird

/// One page of a list. The parameters `limit` and `after` select it.
struct ListPage {
    /// The names of the items on the page.
    let names: ArraySlice<String>
    /// The address of the next page; nil if this one is the last.
    private let next: String?

    /// - Parameter names: the names of all items, in any order.
    init(sorting names: some Sequence<String>, _ call: ManagementCall) {
        let all = names.sorted()
        let start = call.query("after").map { after in all.firstIndex { $0 > after } ?? all.endIndex }
        self.init(all[(start ?? 0)...], call)
    }

    /// - Parameter names: the names of all items, in the order of the list. If the name in `after` is not among them,
    ///   the page is the first one.
    init(inOrder names: [String], _ call: ManagementCall) {
        let last = call.query("after").flatMap(names.firstIndex(of:))
        self.init(names[(last.map { $0 + 1 } ?? 0)...], call)
    }

    private init(_ rest: ArraySlice<String>, _ call: ManagementCall) {
        let limit = call.query("limit").flatMap(Int.init) ?? ManagementLimits.listItems
        names = rest.prefix(limit)
        next = rest.count > limit ? names.last.map { Self.link(call, limit, after: $0) } : nil
    }

    /// The address of the next page (RFC 8288). Names contain only letters, digits, hyphens and periods, so they need
    /// no escaping.
    private static func link(_ call: ManagementCall, _ limit: Int, after name: String) -> String {
        "\(call.request.uri.path)?limit=\(limit)&after=\(name)"
    }

    /// - Parameter items: the items on the page, as they are shown.
    func answer(_ items: some Encodable) throws -> Response { try Self.answer(items, next: next) }

    /// The answer with one page of a list, when only the items of this page were read.
    /// - Parameters:
    ///   - items: the items of the page, and one more if there is another page.
    ///   - limit: the most items of the page.
    static func answer<Item: Encodable>(
        _ items: [Item],
        of limit: Int,
        name: (Item) -> String,
        _ call: ManagementCall,
    ) throws -> Response {
        let page = Array(items.prefix(limit))
        let next = items.count > limit ? page.last.map { link(call, limit, after: name($0)) } : nil
        return try answer(page, next: next)
    }

    private static func answer(_ items: some Encodable, next: String?) throws -> Response {
        var response = try JSONAnswer.make(items)
        if let next { response.headers[.link] = "<\(next)>; rel=\"next\"" }
        return response
    }

    /// - Parameters:
    ///   - names: the names of all items, in any order.
    ///   - message: returns the item with that name as it is shown; nil if it was deleted meanwhile.
    static func make<Message: Encodable>(
        of names: some Sequence<String>,
        _ call: ManagementCall,
        _ message: (String) -> Message?,
    ) throws -> Response {
        let page = ListPage(sorting: names, call)
        return try page.answer(page.names.compactMap(message))
    }
}

extension HTTPField.Name {
    /// A static name, which is always allowed.
    static let link = HTTPField.Name("Link") ?? .contentLocation
}
