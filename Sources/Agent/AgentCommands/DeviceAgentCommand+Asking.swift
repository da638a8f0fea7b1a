import APNSDevice
import ArgumentParser
import CommandSupport
import DeviceAgent
import HTTPAPIClient
import Notifications

// The commands that ask a running agent.
extension DeviceAgentCommand {
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the device, its connection and its apps.")

        @OptionGroup var options: DeviceAgentOptions

        func run() async throws {
            let status = try await options.client.ask(.GET, "/v1/status")
            options.output.printRaw(status.text, Self.text(status))
        }

        private static func text(_ status: JSONValue) -> String {
            func value(_ key: String) -> String { status.members[key]?.plainText ?? "" }
            var lines = [
                "Device \(value("deviceID").isEmpty ? "without an identity" : value("deviceID")), \(value("environment")), of \(value("service")): \(value("connection"))"
            ]
            if !value("cause").isEmpty { lines.append("  \(value("cause"))") }
            if let distributor = status.members["distributor"] {
                func value(_ key: String) -> String { distributor.members[key]?.plainText ?? "" }
                lines.append(
                    "Distributor of UnifiedPush for \(value("app")): name \(value("name")), \(value("registrations")) registrations"
                )
            }
            lines += (status.members["apps"]?.elements ?? []).map(Apps.text)
            lines += (status.members["refusedManifests"]?.elements ?? []).map { refused in
                "Not used: \(refused.members["file"]?.plainText ?? ""): \(refused.members["cause"]?.plainText ?? "")"
            }
            return lines.joined(separator: "\n")
        }
    }

    struct Apps: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the apps, one on each line.")

        @OptionGroup var options: DeviceAgentOptions

        func run() async throws {
            let status = try await options.client.ask(.GET, "/v1/status")
            for app in status.members["apps"]?.elements ?? [] {
                options.output.printRaw(app.text, Self.text(app))
            }
        }

        static func text(_ app: JSONValue) -> String {
            func value(_ key: String) -> String { app.members[key]?.plainText ?? "" }
            return "\(value("bundleID"))  \(value("state")), \(value("streams")) streams, \(value("pending")) pending"
        }
    }

    struct SettingsCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "settings",
            abstract: "Show or change the user's settings: for an app, or for the device.",
            discussion: "Only root and the agent's user may do this.")

        @OptionGroup var options: DeviceAgentOptions

        @Argument(help: "The app whose settings to change.")
        var bundleID: String?

        /// What people choose for an app.
        enum Mode: String, CaseIterable {
            case allow
            case silent
            case off
        }

        @Option(
            help: "allow, silent (without sounds) or off (no alerts, sounds and badges).", transform: { try choice($0) }
        )
        var notifications: Mode?

        @Option(help: "The app's alerts: banner, alert or off.", transform: { try choice($0) })
        var alerts: AppSettings.AlertStyle?

        /// The values of a switch.
        enum Switch: String, CaseIterable {
            case on
            case off
        }

        @Option(
            name: .customLong("do-not-disturb"),
            help: "on or off. While it is on, only time-sensitive and critical alerts are shown.",
            transform: { try choice($0) })
        var doNotDisturb: Switch?

        func validate() throws {
            guard bundleID != nil || notifications == nil && alerts == nil else {
                throw ValidationError("--notifications and --alerts need an app: its bundle ID.")
            }
        }

        func run() async throws {
            let client = options.client
            if let bundleID {
                let known = try await client.ask(.GET, "/v1/settings").members["apps"]
                guard known?.members[bundleID] != nil else {
                    throw CommandError("The app \(bundleID) has not registered.")
                }
            }
            if let doNotDisturb {
                _ = try await client.ask(.PUT, "/v1/settings", ["doNotDisturb": .bool(doNotDisturb == .on)])
            }
            if let bundleID, let change {
                let path = "/v1/apps/\(bundleID.percentEncoded)/settings"
                let _: AppSettingsDocument = try await client.ask(.PUT, path, change)
            }
            let settings = try await client.ask(.GET, "/v1/settings")
            options.output.printRaw(settings.text, Self.text(settings))
        }

        private var change: AppSettingsDocument? {
            var document = AppSettingsDocument()
            switch notifications {
            case .allow: document = AppSettingsDocument(alerts: "banner", sounds: true, badges: true)
            case .silent: document = AppSettingsDocument(alerts: "banner", sounds: false, badges: true)
            case .off: document = AppSettingsDocument(alerts: "off", sounds: false, badges: false)
            case nil: break
            }
            if let alerts { document.alerts = alerts.rawValue }
            return document == AppSettingsDocument() ? nil : document
        }

        private static func text(_ settings: JSONValue) -> String {
            let quiet = settings.members["doNotDisturb"] == true
            var lines = ["Do not disturb: \(quiet ? "on" : "off")"]
            lines += (settings.members["apps"]?.members ?? [:]).sorted { $0.key < $1.key }.map { name, app in
                func isOn(_ key: String) -> String { app.members[key] == true ? "on" : "off" }
                let alerts = app.members["alerts"]?.plainText ?? ""
                return "\(name)  alerts \(alerts), sounds \(isOn("sounds")), badges \(isOn("badges"))"
            }
            return lines.joined(separator: "\n")
        }
    }
}

extension JSONValue {
    /// A text without quotation marks and without control characters, and other values as JSON.
    fileprivate var plainText: String { string.map(TerminalText.clean) ?? text }
}
