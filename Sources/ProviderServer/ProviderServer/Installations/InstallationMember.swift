import APNSProvider
import CampaignStore
import Foundation
import HTTPAPI
import Notifications

/// A member of the JSON of an installation that a request may set: its schema, how it is read, and how it is shown.
struct InstallationMember: Sendable {
    typealias Reading = @Sendable (DocumentReader, inout Installation) throws(Problem) -> Void

    let schema: Schema.Member
    /// Sets the property. A member that is missing leaves it empty.
    let read: Reading
    /// The value that an answer shows; nil if the installation has none.
    let value: @Sendable (Installation) -> JSONValue?

    private init(
        _ schema: Schema.Member,
        read: @escaping Reading,
        value: @escaping @Sendable (Installation) -> JSONValue?,
    ) {
        self.schema = schema
        self.read = read
        self.value = value
    }

    /// The values of an installation, by the names of the members.
    static func values(_ installation: Installation) -> JSONMembers {
        JSONMembers(lastOf: all.compactMap { member in member.value(installation).map { (member.schema.name, $0) } })
    }

    /// In the order of docs/provider-server.md.
    static let all = [
        InstallationMember(.required("deviceToken", .string(.deviceToken))) { reader, installation throws(Problem) in
            installation.deviceToken = try reader.required("deviceToken", try token("deviceToken", reader))
        } value: {
            .string($0.deviceToken)
        },
        InstallationMember(.optional("environment", .string(.environment), "production, if it is missing.")) {
            reader, installation throws(Problem) in
            installation.environment = try reader.read("environment", .environment) ?? .production
        } value: {
            .string($0.environment.rawValue)
        },
        InstallationMember(.optional("languages", languages.schema, "The preferred one first.")) {
            reader, installation throws(Problem) in
            installation.languages = try reader.read("languages", languages) ?? []
        } value: {
            list($0.languages)
        },
        InstallationMember(.optional("timeZone", .string(zone), "Such as Europe/Stockholm.")) {
            reader, installation throws(Problem) in
            installation.timeZone = try reader.read("timeZone", .text(zone))
        } value: {
            $0.timeZone.map(JSONValue.string)
        },
        InstallationMember(.optional("user", line.schema)) { reader, installation throws(Problem) in
            installation.user = try reader.read("user", line)
        } value: {
            $0.user.map(JSONValue.string)
        },
        InstallationMember(.optional("tags", tagList.schema, "The backend's tags.")) {
            reader, installation throws(Problem) in
            installation.tags = try tags("tags", reader) ?? []
        } value: {
            list($0.tags)
        },
        InstallationMember(.optional("appTags", tagList.schema, "The app's tags.")) {
            reader, installation throws(Problem) in
            installation.appTags = try tags("appTags", reader)
        } value: {
            $0.appTags.map(list)
        },
        InstallationMember(.optional("appVersion", line.schema)) { reader, installation throws(Problem) in
            installation.appVersion = try reader.read("appVersion", line)
        } value: {
            $0.appVersion.map(JSONValue.string)
        },
        InstallationMember(
            .optional("values", .openObject, "The backend's values for templates: texts, numbers and booleans.")
        ) { reader, installation throws(Problem) in
            installation.values = try TemplateValues.read("values", reader) ?? [:]
        } value: {
            filled($0.values)
        },
        InstallationMember(.optional("appValues", .openObject, "The app's values.")) {
            reader, installation throws(Problem) in
            installation.appValues = try TemplateValues.read("appValues", reader) ?? [:]
        } value: {
            filled($0.appValues)
        },
        InstallationMember(
            .optional(
                "tokens", .object(AppService.names.map { .optional($0, .string(.deviceToken)) }),
                "The device tokens of the app's services.")
        ) { reader, installation throws(Problem) in
            installation.tokens.services = try services(reader)
        } value: {
            filled(JSONMembers($0.tokens.services.mapValues(JSONValue.string)))
        },
        InstallationMember(
            .optional("activities", .openObject, "The device tokens of Live Activities, by their names.")
        ) { reader, installation throws(Problem) in
            installation.tokens.activities = try activities(reader)
        } value: {
            filled(JSONMembers($0.tokens.activities.mapValues(JSONValue.string)))
        },
        InstallationMember(
            .optional(
                "badge", badge.schema,
                "The number on the app's icon, from which the badge of a message counts.")
        ) { reader, installation throws(Problem) in
            installation.badge = try reader.read("badge", badge) ?? 0
        } value: {
            $0.badge == 0 ? nil : .integer($0.badge)
        },
    ]

    // MARK: Forms of members

    private static let line = JSONForm<String>.text(.shortLine)
    private static let languages = JSONForm.list(of: .text(.language), to: ProviderServerLimits.languages)
    private static let tagList = JSONForm.list(of: .text(.tag), to: ProviderServerLimits.tags)
    private static let badge = JSONForm<Int64>.integer(to: Int(clamping: Installation.maximumBadge))
    private static let deviceToken = JSONForm<String>.text(.deviceToken)
    private static let zone = TextFormat("a name of the time zone database, such as Europe/Stockholm") {
        TextFormat.shortLine.allows($0) && TimeZone(identifier: $0) != nil
    }

    /// What a patch adds to tags, and removes from them.
    static let tagChange = Schema.object([.optional("add", tagList.schema), .optional("remove", tagList.schema)])

    static func tags(_ key: String, _ reader: DocumentReader) throws(Problem) -> [String]? {
        try reader.read(key, tagList).map { Set($0).sorted() }
    }

    private static func services(_ reader: DocumentReader) throws(Problem) -> [String: String] {
        var tokens: [String: String] = [:]
        guard let services = try reader.object("tokens", keys: AppService.names) else { return tokens }
        for name in services.members.keys { tokens[name] = try token(name, services) }
        return tokens
    }

    private static func activities(_ reader: DocumentReader) throws(Problem) -> [String: String] {
        var tokens: [String: String] = [:]
        guard let activities = try reader.object("activities", keys: nil) else { return tokens }
        guard activities.members.count <= ProviderServerLimits.activities else {
            throw reader.fault("activities", "an object of at most \(ProviderServerLimits.activities) members")
        }
        for name in activities.members.keys {
            guard TextFormat.installation.allows(name) else {
                throw .invalid(activities.place(name), "The name has to be \(TextFormat.installation.name).")
            }
            tokens[name] = try token(name, activities)
        }
        return tokens
    }

    private static func token(_ key: String, _ reader: DocumentReader) throws(Problem) -> String? {
        try reader.read(key, deviceToken).flatMap { DeviceToken($0)?.hexadecimal }
    }

    private static func list(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }

    /// An object, unless it is empty.
    private static func filled(_ values: JSONMembers) -> JSONValue? { values.isEmpty ? nil : .object(values) }
}
