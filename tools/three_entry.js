// What stage.js needs of three.js; tools/three_bundle.py makes src/dalembert/view/web/three.js of it.
export {
  AmbientLight, BackSide, Box3, BoxGeometry, BufferAttribute, BufferGeometry, CanvasTexture, CapsuleGeometry, Color,
  ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, EdgesGeometry, ExtrudeGeometry, Float32BufferAttribute,
  FrontSide, Group, HemisphereLight, InstancedMesh, LatheGeometry, Line, LineBasicMaterial, LineSegments, MOUSE, Matrix4,
  Mesh, MeshBasicMaterial, MeshStandardMaterial, OrthographicCamera, PCFShadowMap, Path, PerspectiveCamera, Plane,
  PlaneGeometry, Quaternion, REVISION, Raycaster, RingGeometry, Scene, ShadowMaterial, Shape, Sphere, SphereGeometry,
  Sprite, SpriteMaterial, TOUCH, TorusGeometry, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
export { Line2 } from "three/addons/lines/Line2.js";
export { LineGeometry } from "three/addons/lines/LineGeometry.js";
export { LineMaterial } from "three/addons/lines/LineMaterial.js";
