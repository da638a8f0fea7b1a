import Foundation
import Notifications
import SQLSupport

// How the values of the provider server's tables are stored, if a text or a number is not enough.

extension ColumnType<[String]> {
    /// Each word has a space on both sides, so that a search for ` news ` finds only this tag.
    static let words = ColumnType(
        .text, value: { .text($0.isEmpty ? "" : " " + $0.joined(separator: " ") + " ") },
        read: { $0.text($1).map { $0.split(separator: " ").map(String.init) } })

    /// The first language in lower case, by which audiences search, and then all of them.
    static let languages = ColumnType(
        [.text, .text], values: { [.text($0.first?.lowercased() ?? "")] + (try words.values($0)) },
        read: { try words.read($0, $1 + 1) })
}

extension ColumnType<[String]?> {
    /// As ``ColumnType/words``, but an empty list is one space. The empty text means that there is no list.
    static let optionalWords = ColumnType(
        .text, value: { .text($0.map { words in " " + words.map { $0 + " " }.joined() } ?? "") },
        read: { row, column -> [String]?? in
            row.text(column).map { $0.isEmpty ? nil : .some($0.split(separator: " ").map(String.init)) }
        })
}

extension ColumnType<ServiceTokens> {
    /// Each word has a space on both sides, so that replacing it by a space removes only this one.
    static let serviceTokens = mapping(.words, to: \.words, from: ServiceTokens.init(words:))
}

extension ColumnType<String?> {
    /// The text is empty if there is none.
    static let emptyIfNil = ColumnType(
        .text, value: { .text($0 ?? "") },
        read: { row, column -> String?? in row.text(column).map { $0.isEmpty ? nil : .some($0) } })
}

extension ColumnType<JSONMembers> {
    /// JSON; NULL for no values.
    static let templateValues = mapping(
        .optional(.json()), to: { $0.isEmpty ? nil : JSONValue.object($0) }, from: { ($0 ?? [:]).members })
}

extension ColumnType<Installation.End> {
    static let end = ColumnType(
        [.integer, .text], values: { [.integer($0.at.column), .text($0.reason)] },
        read: { row, column in
            row.integer(column).map {
                Installation.End(at: Timestamp(column: $0), reason: row.text(column + 1) ?? "")
            }
        })
}

extension ColumnType<[Environment: ProviderApp.Endpoint]> {
    /// JSON by the environment's name. An environment that this version does not know is left out.
    static let endpoints = mapping(
        .json(),
        to: { Dictionary($0.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 }) },
        from: { (endpoints: [String: ProviderApp.Endpoint]) in
            Dictionary(
                endpoints.compactMap { name, endpoint in Environment(rawValue: name).map { ($0, endpoint) } },
                uniquingKeysWith: { $1 })
        })
}

extension ColumnType<MessageRecord.State> {
    /// A state that this version does not know is one that it must not send in.
    static let state = mapping(.text, to: \.rawValue, from: { MessageRecord.State(rawValue: $0) ?? .cancelled })
}

extension ColumnType<MessageRecord.Position> {
    static let position = ColumnType(
        [.integer, .integer, .integer, .integer],
        values: {
            [.integer($0.last), .integer($0.due.column), .integer($0.environment.column), .integer($0.after)]
        },
        read: { row, column in
            guard let due = row.integer(column + 1), let after = row.integer(column + 3),
                let environment = row.integer(column + 2).flatMap(Environment.init(column:))
            else { return nil }
            var position = MessageRecord.Position()
            position.last = row.integer(column)
            position.due = Timestamp(column: due)
            position.environment = environment
            position.after = after
            return position
        })
}

extension ColumnType<MessageRecord.Tally> {
    /// The numbers of accepted and of opened notifications. The failures have a table of their own.
    static let accepted = ColumnType(
        [.integer, .integer], values: { [.integer($0.accepted), .integer($0.opened)] },
        read: { row, column in
            guard let accepted = row.integer(column), let opened = row.integer(column + 1) else { return nil }
            var tally = MessageRecord.Tally()
            (tally.accepted, tally.opened) = (accepted, opened)
            return tally
        })
}

extension ColumnType<Hook> {
    /// The number of the hook. The rest comes from its own table.
    static let hookNumber = mapping(.integer, to: \.number) {
        Hook(number: $0, id: "", app: 0, url: "", sealedSecret: [])
    }
}

extension ColumnType<ProviderEvent> {
    /// The kind of the event. Its body is read only when it is sent.
    static let eventKind = mapping(.text, to: \.kind) { ProviderEvent(kind: $0, body: []) }
}
