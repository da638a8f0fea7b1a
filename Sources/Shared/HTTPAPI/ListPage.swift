import HTTPTypes
package import Hummingbird
import Notifications

/// One page of a list. The parameters `limit` and `after` select it.
package struct ListPage {
    /// The names of the items on the page.
    package let names: ArraySlice<String>
    /// The address of the next page; nil if this one is the last.
    private let next: String?

    /// - Parameters:
    ///   - names: the names of all items, in any order.
    ///   - spelled: returns how the list writes a name that may have other spellings, such as one in hexadecimal.
    package init(
        sorting names: some Sequence<String>,
        _ call: Call<some Sendable>,
        spelled: (String) -> String = { $0 },
    ) {
        let all = names.sorted()
        let start = call.query("after").map(spelled).map { after in all.firstIndex { $0 > after } ?? all.endIndex }
        self.init(all[(start ?? 0)...], call)
    }

    /// - Parameter names: the names of all items, in the order of the list. If the name in `after` is not among them,
    ///   the page is the first one.
    package init(inOrder names: [String], _ call: Call<some Sendable>) {
        let last = call.query("after").flatMap(names.firstIndex(of:))
        self.init(names[(last.map { $0 + 1 } ?? 0)...], call)
    }

    private init(_ rest: ArraySlice<String>, _ call: Call<some Sendable>) {
        names = rest.prefix(call.limit)
        next = rest.count > call.limit ? names.last.map { call.link(after: $0) } : nil
    }

    /// - Parameter items: the items on the page, as they are shown.
    package func answer(_ items: [some JSONMessage]) -> Response { Self.answer(items, next: next) }

    /// The answer with one page of a list, when only the items of this page were read.
    /// - Parameter items: the items of the page, and one more if there is another page.
    package static func answer<Item: JSONMessage>(
        _ items: [Item],
        name: (Item) -> String,
        _ call: Call<some Sendable>,
    ) -> Response {
        let page = Array(items.prefix(call.limit))
        return answer(page, next: items.count > call.limit ? page.last.map { call.link(after: name($0)) } : nil)
    }

    private static func answer<Item: JSONMessage>(_ items: [Item], next: String?) -> Response {
        var response = JSONForm.list(of: Item.form).response(items)
        response.headers[.link] = next
        return response
    }

    /// - Parameters:
    ///   - names: the names of all items, in any order.
    ///   - spelled: returns how the list writes a name that may have other spellings, such as one in hexadecimal.
    ///   - message: returns the item with that name as it is shown; nil if it was deleted meanwhile.
    package static func make<Message: JSONMessage>(
        of names: some Sequence<String>,
        _ call: Call<some Sendable>,
        spelled: (String) -> String = { $0 },
        _ message: (String) -> Message?,
    ) -> Response {
        let page = ListPage(sorting: names, call, spelled: spelled)
        return page.answer(page.names.compactMap(message))
    }

    /// - Parameter items: all items, by their identifiers, which are the names.
    package static func make<ID: RawRepresentable<String>, Item, Message: JSONMessage>(
        of items: [ID: Item],
        _ call: Call<some Sendable>,
        _ message: (Item) -> Message,
    ) -> Response {
        make(of: items.keys.map(\.rawValue), call) { name in ID(rawValue: name).flatMap { items[$0] }.map(message) }
    }
}

extension Call {
    /// The value of the header field `Link` that names the next page (RFC 8288). It has the query of this request, so the
    /// next page is of the same list.
    package func link(after name: String) -> String {
        let others = (request.uri.query ?? "").split(separator: "&")
            .filter { !$0.hasPrefix("after=") && !$0.hasPrefix("limit=") }
        let query = others.map(String.init) + ["limit=\(limit)", "after=\(name.percentEncoded)"]
        return "<\(request.uri.path)?\(query.joined(separator: "&"))>; rel=\"next\""
    }
}
