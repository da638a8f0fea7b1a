import Foundation

/// `script/measure` runs this: Measurements NAME …, on a temporary folder.
let arguments = CommandLine.arguments.dropFirst()
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("measure-\(UUID().uuidString)").path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }  // A folder that is left behind does no harm.

for name in arguments.isEmpty ? ["acceptance", "mailboxes", "log"] : Array(arguments) {
    switch name {
    case "acceptance": try await measureAcceptance(folder + "/acceptance")
    case "mailboxes": try await measureMailboxes(folder + "/mailboxes")
    case "log": try await measureLog(folder + "/log")
    default: print("There is no measurement \(name): acceptance, mailboxes, log.")
    }
}
