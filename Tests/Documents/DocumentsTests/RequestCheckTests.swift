import CommonTesting
import Notifications
import ProviderAPI
import Testing

/// Tests that docs/provider-api.md has the checks of a request in the order in which the service makes them.
struct RequestCheckTests {
    /// A check as the document has it.
    struct Item: Equatable {
        var step: String
        var name: String
        var reasons: Set<String> = []
    }

    /// The items of the section, with the reasons that each names. An item begins with its name, and a step with its title.
    private static func items() throws -> [Item] {
        let document = try Repository.text("docs/provider-api.md")
        let section = try #require(document.split(separator: "## The order of the checks").dropFirst().first)
        var (step, items): (String, [Item]) = ("", [])
        let lines = section.split(separator: "## ").first?.split(separator: "\n") ?? []
        for line in lines {
            if let title = line.firstMatch(of: /^\d+\. \*\*(.+?)\*\*/) { step = String(title.1) }
            if let name = line.firstMatch(of: /^ +\d+\. (?:\*\*(.+?)\*\*)?/) {
                items.append(Item(step: step, name: name.1.map { String($0) } ?? ""))
            }
            guard let last = items.indices.last else { continue }
            items[last].reasons.formUnion(line.matches(of: /`([A-Z]\w+)`/).map { String($0.1) })
        }
        // `Delivery` makes the checks of the last step.
        return items.filter { $0.step != "Delivery" }
    }

    @Test func `The checks have the order, the steps and the reasons of docs/provider-api.md`() throws {
        let reasons = Set(Rejection.Reason.allCases.map(\.rawValue))
        let documented = try Self.items().map { item in
            Item(step: item.step, name: item.name, reasons: item.reasons.intersection(reasons))
        }
        let made = RequestCheck.allCases.map { check in
            Item(step: check.step.rawValue, name: check.rawValue, reasons: Set(check.reasons.map(\.rawValue)))
        }
        #expect(documented.map(\.name) == made.map(\.name))
        for (one, other) in zip(documented, made) { #expect(one == other) }
    }
}
