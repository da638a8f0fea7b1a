import CommandSupport
import Foundation
import Notifications
import Service

/// What a person sees when the service is ready: where it listens, and what to type next.
struct Welcome {
    private let description: ServiceDescription
    private let folder: DataFolder
    private let isFirstStart: Bool
    /// Where an instance's own service forwards to; nil for any other service.
    private let gateways: [Environment: String]?

    init(
        _ description: ServiceDescription,
        folder: DataFolder,
        isFirstStart: Bool,
        gateways: [Environment: String]? = nil,
    ) {
        self.gateways = gateways
        self.description = description
        self.folder = folder
        self.isFirstStart = isFirstStart
    }

    var text: String {
        var lines = ["Carillon is ready.", ""]
        if description.accept == AcceptChoice.any.rawValue {
            lines += [
                "  ACCEPTS ANY  Unknown teams, keys, topics and device tokens are made at first sight (--accept any).",
                "               This is for tests. Provider tokens of unknown keys are not verified.", "",
            ]
        }
        for environment in Environment.allCases {
            guard let addresses = description.addresses(environment) else { continue }
            let name = environment.rawValue.padding(toLength: 12, withPad: " ", startingAt: 0)
            lines.append("  \(name) providers \(addresses.provider)   devices \(addresses.courier)")
            let indent = String(repeating: " ", count: name.count)
            lines.append("  \(indent) binary    \(addresses.binary)   feedback \(addresses.feedback)")
        }
        if let management = description.management {
            lines.append("  management   \(management.url)   key \(management.keyFile)")
            lines.append("  console      \(management.url)/console   sign in with: \(console)")
        }
        lines += ["  data         \(folder.path)", "  authority    \(description.ca)"]
        if let key = description.key {
            lines += ["  team         \(key.teamID)", "  signing key  \(key.keyID)  \(key.path)"]
            if let bundleID = key.bundleID { lines.append("  app          \(bundleID)") }
        }
        if let gateways {
            lines += Environment.allCases.compactMap { environment in
                gateways[environment].map { "  gateway      \($0) (\(environment.rawValue))" }
            }
            lines += ["", "Let your server use the signing key, and trust the authority: docs/instance.md"]
        } else {
            lines += isFirstStart ? nextSteps : ["", "Try it: carillon demo"]
        }
        return lines.joined(separator: "\n")
    }

    /// Prints the link that signs a browser in.
    private var console: String {
        "\(shellQuoted(ProcessArguments.program(usual: "carillon"))) console --data \(shellQuoted(folder.path))"
    }

    /// Lines to paste into another terminal, in this order.
    private var nextSteps: [String] {
        guard let bundleID = description.key?.bundleID else { return [] }
        let environment: Environment = description.development == nil ? .production : .development
        guard let addresses = description.addresses(environment) else { return [] }
        let carillon = shellQuoted(ProcessArguments.program(usual: "carillon"))
        let data = "--data \(shellQuoted(folder.path))"
        var option = ""
        var code = ""
        if environment == .production {
            option = " --environment production"
            code = " --code \"$(\(carillon) device invite \(data)\(option))\""
        }
        return [
            "",
            "In another terminal, make a device and let an app on it listen:",
            "  \(carillon) device activate \(data)\(option)\(code) --out phone.pem",
            "  \(carillon) device listen \(data) --identity phone.pem --bundle-id \(bundleID)",
            "",
            "In a third one, send to it:",
            "  TOKEN=$(\(carillon) device register \(data) --identity phone.pem --bundle-id \(bundleID))",
            "  \(carillon) send \(data)\(option) --token $TOKEN --topic \(bundleID) --alert 'Hello'",
            "",
            "Or with curl, as any provider does:",
            "  curl --http2 --cacert \(shellQuoted(description.ca)) \\",
            "    -H \"authorization: bearer $(\(carillon) key token \(data))\" \\",
            "    -H 'apns-topic: \(bundleID)' -d '{\"aps\":{\"alert\":\"Hello\"}}' \\",
            "    https://\(addresses.provider)/3/device/$TOKEN",
        ]
    }
}
