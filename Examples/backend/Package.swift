// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "backend",
    platforms: [.macOS(.v26)],
    dependencies: [
        .package(name: "carillon", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "Backend",
            dependencies: [
                .product(name: "APNSProvider", package: "carillon"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)],
        )
    ]
)
