import HTTPAPI
import Notifications

/// What an app on this machine may be: who it is, and how it is woken. A file in `apps.d`.
package struct Manifest: Sendable, Hashable {
    /// Who may be the app.
    package enum Owner: Sendable, Hashable {
        case user(UInt32)
        case group(UInt32)
    }

    package var bundleID: String
    /// The app's name for people.
    package var name: String
    /// The name of an icon, or its path.
    package var icon: String?
    /// The folder with the app's images and sounds; nil if it has none.
    package var resources: String?
    /// The name of its desktop file (the Desktop Entry Specification), such as `com.example.Kiosk`.
    package var desktopEntry: String?
    package var owner: Owner
    /// The program and its arguments that run for each notification; empty if there is none.
    package var exec: [String]
    /// The systemd unit that is started for a notification.
    package var unit: String?
    /// The D-Bus name that is activated for a notification.
    package var busName: String?

    /// Whether the agent can wake the app.
    var canBeWoken: Bool { !exec.isEmpty || unit != nil || busName != nil }

    /// Whether this process may be the app.
    func admits(_ peer: LocalPeer) -> Bool {
        guard peer.mayBe(bundleID) else { return false }
        return switch owner {
        case .user(let user): peer.user == user
        case .group(let group): peer.groups.contains(group)
        }
    }
}

extension Manifest {
    /// Why a manifest is refused.
    struct Refusal: Error, Sendable, Hashable {
        let cause: String
        /// Whether the system could not read what is there.
        var isUnread = false
    }

    private static let schema = Schema.object([
        .required("bundleID", .string(.bundleID)), .optional("name", .string(.line(maximumBytes: 100))),
        .optional("icon", .string(.line(maximumBytes: 1000))), .optional("user", .string(.line(maximumBytes: 100))),
        .optional("group", .string(.line(maximumBytes: 100))),
        .optional("exec", .array(.string(.argument), count: 1...AgentLimits.arguments)),
        .optional("unit", .string(.unit)), .optional("dbus", .string(.busName)),
        .optional("resources", .string(.folder)), .optional("desktop", .string(.desktopEntry)),
    ])

    /// Reads a manifest.
    /// - Parameters:
    ///   - names: finds the Unix users and groups.
    ///   - agentUser: the user that the agent runs as.
    init(_ bytes: [UInt8], names: some AccountNames, agentUser: UInt32) throws(Refusal) {
        let value: JSONValue
        do throws(JSONFault) {
            value = try JSONValue(document: bytes, maximumDepth: Payload.maximumDepth)
        } catch {
            throw Refusal(cause: (error.pointer.isEmpty ? "" : "\(error.pointer): ") + error.detail(of: "It"))
        }
        guard case .object(let members) = value else { throw Refusal(cause: "It is not a JSON object.") }
        do throws(Problem) {
            try Self.schema.check(value)
        } catch {
            throw Refusal(cause: "\(error.pointer ?? ""): \(error.detail)")
        }
        func member(_ key: String) -> String? { members[key]?.string }
        bundleID = member("bundleID") ?? ""
        name = member("name") ?? bundleID
        icon = member("icon")
        switch (member("user"), member("group")) {
        case (_?, _?): throw Refusal(cause: "It names a user and a group; it takes one of them.")
        case (let user?, nil):
            guard let number = names.user(user) else { throw Refusal(cause: "/user: There is no user \(user).") }
            owner = .user(number)
        case (nil, let group?):
            guard let number = names.group(group) else { throw Refusal(cause: "/group: There is no group \(group).") }
            owner = .group(number)
        case (nil, nil): owner = .user(agentUser)
        }
        exec = members["exec"]?.elements.compactMap(\.string) ?? []
        resources = member("resources")
        desktopEntry = member("desktop")
        unit = member("unit")
        busName = member("dbus")
        guard exec.isEmpty || exec[0].hasPrefix("/") else {
            throw Refusal(cause: "/exec/0: The program has to be an absolute path.")
        }
        // Otherwise a manifest could run a command with the rights of another user than the app's.
        guard exec.isEmpty || owner == .user(agentUser) else {
            throw Refusal(
                cause:
                    "/exec: Commands run as the agent's user, so only an app of that user has one; name a unit instead."
            )
        }
        guard [!exec.isEmpty, unit != nil, busName != nil].count(where: \.self) <= 1 else {
            throw Refusal(cause: "It takes one of exec, unit and dbus.")
        }
    }
}

/// Finds the Unix users and groups that manifests name.
protocol AccountNames {
    /// The number of a user; nil if there is none of this name.
    func user(_ name: String) -> UInt32?
    func group(_ name: String) -> UInt32?
}

extension TextFormat {
    fileprivate static let argument = TextFormat("up to \(AgentLimits.argumentBytes) bytes without NUL") {
        $0.utf8.count <= AgentLimits.argumentBytes && !$0.utf8.contains(0)
    }

    fileprivate static let folder = TextFormat("the absolute path of a folder, without control characters") { path in
        (2...1000).contains(path.utf8.count) && path.hasPrefix("/") && path.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }

    /// The Desktop Entry Specification, "File naming".
    fileprivate static let desktopEntry = TextFormat(
        "the name of a desktop file without its ending, such as com.example.Kiosk",
        pattern: #"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$"#
    ) { name in
        (1...200).contains(name.utf8.count) && name.utf8.first != 0x2d && name.utf8.first != 0x2e
            && !name.hasSuffix(".desktop") && name.utf8.allSatisfy { isWord($0) || $0 == 0x2d || $0 == 0x2e }
    }

    /// systemd.unit(5). A name does not begin with a hyphen, so that systemctl does not take it for an option.
    fileprivate static let unit = TextFormat(
        "the name of a systemd unit, such as kiosk.service", pattern: #"^[A-Za-z0-9_][A-Za-z0-9:_.@\\-]{0,250}$"#
    ) { name in
        (3...251).contains(name.utf8.count) && name.first != "-" && name.contains(".")
            && name.utf8.allSatisfy { isWord($0) || [0x2d, 0x2e, 0x3a, 0x40, 0x5c].contains($0) }
    }

    /// The D-Bus specification, "Bus names".
    fileprivate static let busName = TextFormat(
        "a D-Bus name, such as com.example.Kiosk", pattern: #"^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)+$"#
    ) { name in
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return name.utf8.count <= 255 && parts.count >= 2
            && parts.allSatisfy { part in
                guard let first = part.utf8.first, !(0x30...0x39).contains(first), first != 0x2d else { return false }
                return part.utf8.allSatisfy { isWord($0) || $0 == 0x2d }
            }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == 0x5f
    }
}
