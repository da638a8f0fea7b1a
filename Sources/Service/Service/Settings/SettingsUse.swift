package import Configuration
package import Notifications
import Synchronization

/// Records which settings are read, to find those that nothing reads. Such a setting has a misspelt name or a value
/// of the wrong type, and would otherwise be ignored without a message.
package final class SettingsUse: AccessReporter {
    private struct State {
        /// All names that were read.
        var known: Set<[String]> = []
        /// The names that had a value of the requested type.
        var readable: Set<[String]> = []
        /// The names of settings that are true or false.
        var truths: Set<[String]> = []
        /// The names whose values have the wrong type, each with the type that was requested last.
        var unreadable: [[String]: ConfigType] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package func report(_ event: AccessEvent) {
        let name = event.metadata.key.components
        let isUnreadable =
            event.conversionError != nil
            || event.providerResults.contains { if case .failure = $0.result { true } else { false } }
        state.withLock { state in
            state.known.insert(name)
            if event.metadata.valueType == .bool { state.truths.insert(name) }
            if isUnreadable {
                state.unreadable[name] = event.metadata.valueType
            } else if case .success(.some) = event.result {
                state.readable.insert(name)
            }
        }
    }

    /// Checks that every setting was read. Call it after all settings have been read.
    /// - Parameters:
    ///   - environment: the environment variables of the process.
    ///   - file: the settings file; nil if there is none.
    package func check(environment: [String: String], file: JSONMembers?) throws(ServiceError) {
        let state = state.withLock { $0 }
        for (name, type) in state.unreadable.sorted(by: { $0.key.joined() < $1.key.joined() })
        where !state.readable.contains(name) {
            throw ServiceError(.badSetting, "The setting \(Self.shown(name)) takes \(Self.words(type)).")
        }
        let variables = Set(state.known.map(Self.variable))
        for name in environment.keys.sorted() where name.hasPrefix(Self.prefix) {
            guard !variables.contains(name), !Self.isForSomethingElse(name) else { continue }
            throw ServiceError(.badSetting, "There is no setting \(name); docs/settings.md lists them all.")
        }
        if let file { try Self.check(file, state) }
    }

    private static func check(_ file: JSONMembers, _ state: State) throws(ServiceError) {
        guard case .object(let settings)? = file[scope] else {
            throw ServiceError(
                .badSetting,
                #"The settings file has no key "\#(scope)" with a dictionary, to which all settings belong."#)
        }
        for (name, value) in values(in: settings, below: [scope]).sorted(by: { $0.name.joined() < $1.name.joined() }) {
            guard state.known.contains(name) else {
                throw ServiceError(.badSetting, "There is no setting \(shown(name)); docs/settings.md lists them all.")
            }
            // The library reads JSON's true as the number 1, so it does not notice this mistake itself.
            guard !value.isBool || state.truths.contains(name) else {
                throw ServiceError(.badSetting, "The setting \(shown(name)) takes neither true nor false.")
            }
        }
    }

    private static func values(
        in members: JSONMembers,
        below path: [String],
    ) -> [(name: [String], value: JSONValue)] {
        members.flatMap { key, value in
            let name = path + [key]
            if case .object(let inner) = value { return values(in: inner, below: name) }
            return [(name, value)]
        }
    }

    private static let scope = "carillon"
    private static let prefix = "CARILLON_"

    private static func variable(of name: [String]) -> String {
        name.joined(separator: "_").uppercased().replacing("-", with: "_")
    }

    /// The setting's name in the form of docs/settings.md.
    private static func shown(_ name: [String]) -> String { name.dropFirst().joined(separator: ".") }

    private static func words(_ type: ConfigType) -> String {
        switch type {
        case .int, .double: "a number"
        case .bool: "true or false"
        case .stringArray: "a list of texts"
        default: "a text"
        }
    }

    /// Whether a variable that begins with `CARILLON_` is not a setting of the service. Other commands, the device agent, the
    /// provider server and scripts use some, and Kubernetes sets some in every container if a service is named carillon
    /// (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
    private static func isForSomethingElse(_ name: String) -> Bool {
        others.contains(name) || name == "CARILLON_PORT"
            || [
                "CARILLON_SERVICE_", "CARILLON_PORT_", "CARILLON_SIMULATE_", "CARILLON_PROVIDER_", "CARILLON_DEVICE_",
                "CARILLON_NOTIFICATION_",
            ].contains { name.hasPrefix($0) }
    }

    private static let others: Set<String> = [
        "CARILLON_CONFIG", "CARILLON_MANAGEMENT_URL", "CARILLON_MANAGEMENT_KEY", "CARILLON_ADMINISTRATOR",
        "CARILLON_CA",
        "CARILLON_COMMIT", "CARILLON_WARNINGS_AS_ERRORS", "CARILLON_BENCH", "CARILLON_MEASURE", "CARILLON_FUZZ",
        "CARILLON_CRASHES", "CARILLON_AGENT_SOCKET", "CARILLON_HTTP2",
    ]
}

extension JSONValue {
    fileprivate var isBool: Bool { if case .bool = self { true } else { false } }
}
