package import APNSDevice
import Foundation

/// How the agent is started.
package struct AgentSettings: Sendable {
    /// The folder for the identity and what apps have not handled.
    package var folder: String
    /// The path of the Unix socket that the apps use.
    package var socket: String
    /// The service's courier.
    package var courier: CourierAddress
    /// The environment in which the device is activated.
    package var environment = DeviceIdentity.Environment.development
    /// The code for an activation, if the service needs one.
    package var code: String?
    /// A file with the code. It is read when it is needed, and may be empty or gone at other times.
    package var codeFile: String?
    /// An identity to use instead of an activation.
    package var identityFile: String?
    /// The folder with the manifests.
    package var manifests: String
    /// The languages of the user, the preferred one first.
    package var languages: [String]
    /// The address of the D-Bus on which alerts are shown; nil if they are not shown on a desktop.
    package var desktopBus: String?
    /// The app to which the subscriptions of the desktop's apps belong; nil if the agent is no distributor of UnifiedPush.
    package var unifiedPush: String?
    /// The address of the D-Bus on which the distributor is.
    package var unifiedPushBus: String?
    /// Whether a process that descends from the command of an app is this app and no other.
    package var confinesCommands = false
    /// A program and arguments that keep ``hidden`` from a command: the number of paths, the paths and the command are added to
    /// them. Empty if commands run as they are.
    package var confining: [String] = []
    /// The files and folders with secrets beside ``folder``.
    package var hidden: [String] = []
    /// The version of this program, for the status.
    package var version: String

    package init(
        folder: String,
        socket: String,
        courier: CourierAddress,
        manifests: String,
        languages: [String] = ["en"],
        version: String = "",
    ) {
        self.folder = folder
        self.socket = socket
        self.courier = courier
        self.manifests = manifests
        self.languages = languages
        self.version = version
    }

    /// The address of the user's bus; nil if there is none.
    package static func sessionBus(_ environment: [String: String]) -> String? {
        DesktopNotifications.sessionAddress(environment)
    }

    /// The command that cannot read the agent's folder, the manifests and ``hidden``, if the system can do that. It cannot put something else
    /// in their places, nor in that of the socket, to which it can connect.
    func confined(_ command: [String]) -> [String] {
        let paths = [folder, socket, appSocketFolder, manifests] + hidden
        return confining.isEmpty ? command : confining + ["\(paths.count)"] + paths + command
    }

    /// The folder with the sockets of single apps, beside the one for all.
    var appSocketFolder: String { socket + ".apps" }

    /// The socket at which a client is this app and no other.
    func socket(of bundleID: String) -> String {
        let path = appSocketFolder + "/" + bundleID
        // The system's limit for the path of a socket (unix(7)), with a zero byte at the end.
        guard path.utf8.count >= MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return path }
        // FNV-1a. Another app with the same number would have the same socket, so the manifests' authors are trusted here.
        let number = bundleID.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3  // fits: a byte
        }
        return appSocketFolder + "/" + String(number, radix: 36)
    }

    /// The file with the device's identity.
    package var ownIdentityFile: String { folder + "/identity.pem" }

    /// The file with the private key of an activation that has not ended.
    var activationKeyFile: String { folder + "/activation.key" }

    /// The file that says which code made the identity: SHA-256 of the code, in hexadecimal digits.
    var usedCodeFile: String { folder + "/code.sha256" }

    /// The file that says which code the service has refused, in the same way, and in a second line why.
    var refusedCodeFile: String { folder + "/code.refused" }
}
