declare module "virtual:licenses" {
  const text: string;
  export default text;
}
