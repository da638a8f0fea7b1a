import Foundation

#if os(Linux)
    import CLandlock
#endif

/// Keeps a folder from the commands of apps, although they run as the agent's user: with Landlock, by which a process gives up
/// rights without needing any (landlock(7), Linux 5.13).
package enum Confinement {
    /// The folder cannot be kept from this process.
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Keeps folders with everything in them, and files, from this thread and from the program that it becomes. Such a
    /// program cannot read the memory of the agent either, nor gain rights by set-user-ID programs.
    ///
    /// Landlock has rules that allow, and none that forbid. So this allows everything beside the paths to them. What
    /// others make there later, such as a new folder in `/`, is kept from this program too.
    /// - Parameter paths: if there is nothing at a path, there is nothing to hide but the links on the way.
    package static func hide(_ paths: [String]) throws(Failed) {
        #if os(Linux)
            var hidden: [String] = []
            for path in paths {
                for place in try places(of: path) where !hidden.contains(place) { hidden.append(place) }
            }
            // Each adds rules to the earlier ones.
            for place in hidden { try hide(place: place) }
        #else
            throw Failed(description: "this system has no Landlock")
        #endif
    }

    #if os(Linux)
        /// Finds what leads to a file: each link on the way, and the file itself if it is there. A program that
        /// replaces a link puts something else in the file's place, although a rule applies only to what the link leads
        /// to.
        /// - Returns: paths of which only the last part may be a link.
        static func places(of path: String) throws(Failed) -> [String] {
            func parts(_ path: String) -> [String] { path.split(separator: "/").reversed().map(String.init) }
            var (places, place, rest) = ([String](), "", parts(path))
            while let name = rest.popLast() {
                switch name {
                case ".": continue
                case "..": place = String(place.prefix(upTo: place.lastIndex(of: "/") ?? place.startIndex))
                default:
                    let next = place + "/" + name
                    switch try entry(next) {
                    case .nothing: return places
                    case .other: place = next
                    case .link(let target):
                        guard places.count < maximumLinks else {
                            throw Failed(description: "\(path) has too many links")
                        }
                        places.append(next)
                        if target.hasPrefix("/") { place = "" }
                        rest += parts(target)
                    }
                }
            }
            return places + [place]
        }

        private enum Entry {
            case nothing
            case link(to: String)
            case other
        }

        /// Finds what is at a path of which only the last part may be a link.
        private static func entry(_ path: String) throws(Failed) -> Entry {
            var target = [CChar](repeating: 0, count: maximumTargetBytes)
            let count = readlink(path, &target, target.count)
            guard count < 0 else {
                let bytes = target.prefix(count).map { UInt8(bitPattern: $0) }
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw Failed(description: "the target of the link \(path) is not UTF-8")
                }
                return .link(to: text)
            }
            switch errno {
            case ENOENT: return .nothing
            // It is no link (readlink(2)).
            case EINVAL: return .other
            default: throw failed("find \(path)")
            }
        }

        /// The links that Linux follows in a path (path_resolution(7)).
        private static let maximumLinks = 40
        /// The size in bytes of a path, and so of what a link leads to (`PATH_MAX` of Linux).
        private static let maximumTargetBytes = 4096

        private static func hide(place hidden: String) throws(Failed) {
            let version = carillon_landlock_version()
            guard version >= 1 else { throw Failed(description: "the kernel has no Landlock") }
            let all = Access.all(version)
            let rules = carillon_landlock_create(all)
            guard rules >= 0 else { throw failed("make rules") }
            defer { close(rules) }
            // Names may be listed everywhere. Many programs list the folders that they look for files in.
            try allow(Access.readFolder, "/", rules)
            var place = "/"
            for name in hidden.split(separator: "/") {
                // Of a folder that cannot be listed, the program gets nothing but the way to the next one.
                let others = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
                for other in others where other != name {
                    try allow(all, (place == "/" ? "" : place) + "/" + other, rules)
                }
                place = (place == "/" ? "" : place) + "/" + name
            }
            guard carillon_landlock_restrict(rules) == 0 else { throw failed("apply the rules") }
        }
    #endif

    /// Whether this system can do it.
    package static var isPossible: Bool {
        #if os(Linux)
            carillon_landlock_version() >= 1
        #else
            false
        #endif
    }

    #if os(Linux)
        /// The kinds of access (linux/landlock.h).
        private enum Access {
            static let readFolder: UInt64 = 1 << 3
            /// Those that a file can have: execute, write, read, and later truncate and control of devices.
            static let ofFiles: UInt64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15

            /// All kinds that a version knows: 13, then renaming between folders, truncating, and control of devices.
            static func all(_ version: CInt) -> UInt64 {
                switch version {
                case 1: 1 << 13 - 1
                case 2: 1 << 14 - 1
                case 3, 4: 1 << 15 - 1
                default: 1 << 16 - 1
                }
            }
        }

        private static func allow(_ access: UInt64, _ path: String, _ rules: CInt) throws(Failed) {
            // A link needs no rule, nor a file that was removed since the folder was listed.
            let place = open(path, carillon_open_path | O_CLOEXEC | O_NOFOLLOW)
            guard place >= 0 else { return }
            defer { close(place) }
            let kind = carillon_is_folder(place)
            guard kind >= 0 else { return }
            let possible = kind == 1 ? access : access & Access.ofFiles
            guard carillon_landlock_allow(rules, place, possible) == 0 else { throw failed("allow \(path)") }
        }

        private static func failed(_ what: String) -> Failed {
            Failed(description: "Landlock cannot \(what): \(String(cString: strerror(errno)))")
        }
    #endif
}
